//! The twin of `fail/core_digest_from_bytes.rs`: one line differs.

use tenancy_core::purpose::{CacheKey, Digest};

fn made(bytes: [u8; 32], other: Digest<CacheKey>) -> Digest<CacheKey> {
    let _ = (bytes, other);
    other
}

fn main() {
    let _ = made;
}
