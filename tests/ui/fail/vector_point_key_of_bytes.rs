//! The function that makes the key of a point can't be called by a user.

use tenancy_vector::PointKey;

fn main() {
    let _method = PointKey::of_bytes;
}
