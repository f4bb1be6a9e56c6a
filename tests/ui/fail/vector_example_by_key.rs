//! A point is an example by its external id, never by what the engine calls it.

use tenancy_vector::{Example, ExternalId, PointKey};

type Id = PointKey;

fn example(id: Id) -> Example {
    Example::Point(id)
}

fn main() {
    let _ = (example, std::mem::size_of::<(ExternalId, PointKey)>());
}
