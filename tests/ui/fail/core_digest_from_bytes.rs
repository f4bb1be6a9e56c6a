//! A derived name is not made from bytes.

use tenancy_core::purpose::{CacheKey, Digest};

fn made(bytes: [u8; 32], other: Digest<CacheKey>) -> Digest<CacheKey> {
    let _ = (bytes, other);
    Digest::new(bytes)
}

fn main() {
    let _ = made;
}
