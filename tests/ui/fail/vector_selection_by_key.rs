//! Points are selected for a change by their external ids, never by what the engine calls them.

use tenancy_vector::{ExternalId, PointKey, Select};

type Id = PointKey;

fn select(id: Id) -> Select {
    Select::Ids(vec![id])
}

fn main() {
    let _ = (select, std::mem::size_of::<(ExternalId, PointKey)>());
}
