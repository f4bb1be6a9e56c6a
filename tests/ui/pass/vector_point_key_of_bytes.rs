//! The twin of `fail/vector_point_key_of_bytes.rs`: one line differs.

use tenancy_vector::PointKey;

fn main() {
    let _method = PointKey::digest;
}
