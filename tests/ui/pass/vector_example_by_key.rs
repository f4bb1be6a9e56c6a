//! The twin of `fail/vector_example_by_key.rs`: one line differs.

use tenancy_vector::{Example, ExternalId, PointKey};

type Id = ExternalId;

fn example(id: Id) -> Example {
    Example::Point(id)
}

fn main() {
    let _ = (example, std::mem::size_of::<(ExternalId, PointKey)>());
}
