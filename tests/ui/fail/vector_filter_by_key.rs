//! A filter names points by their external ids, never by what the engine calls them.

use tenancy_vector::{ExternalId, Filter, PointKey, VectorQuery};

type Id = PointKey;

fn narrow(query: VectorQuery, id: Id) -> bool {
    query.filter(Filter::HasId(vec![id])).is_ok()
}

fn main() {
    let _ = (narrow, std::mem::size_of::<(ExternalId, PointKey)>());
}
