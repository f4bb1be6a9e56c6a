//! The key of a point is not made from a text.

type Key = tenancy_vector::PointKey;

fn main() {
    let _key: Key = "acme/42".into();
}
