//! The twin of `fail/vector_filter_by_key.rs`: one line differs.

use tenancy_vector::{ExternalId, Filter, PointKey, VectorQuery};

type Id = ExternalId;

fn narrow(query: VectorQuery, id: Id) -> bool {
    query.filter(Filter::HasId(vec![id])).is_ok()
}

fn main() {
    let _ = (narrow, std::mem::size_of::<(ExternalId, PointKey)>());
}
