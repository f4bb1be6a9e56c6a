//! The key of a point is not made from bytes.

use tenancy_vector::PointKey;

fn made(bytes: [u8; 32], other: PointKey) -> PointKey {
    let _ = (bytes, &other);
    PointKey(bytes)
}

fn main() {
    let _ = made;
}
