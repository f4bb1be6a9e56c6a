//! The twin of `fail/vector_selection_by_key.rs`: one line differs.

use tenancy_vector::{ExternalId, PointKey, Select};

type Id = ExternalId;

fn select(id: Id) -> Select {
    Select::Ids(vec![id])
}

fn main() {
    let _ = (select, std::mem::size_of::<(ExternalId, PointKey)>());
}
