//! The twin of `fail/vector_point_key_made.rs`: one line differs.

use tenancy_vector::PointKey;

fn made(bytes: [u8; 32], other: PointKey) -> PointKey {
    let _ = (bytes, &other);
    other
}

fn main() {
    let _ = made;
}
