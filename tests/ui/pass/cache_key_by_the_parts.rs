//! The twin of `fail/cache_key_by_the_parts.rs`: one line differs.

use tenancy_cache::{CacheKey, Epoch, KeyParts};
use tenancy_core::purpose::{self, Digest};

fn made<P: KeyParts<Key = CacheKey, Purpose = purpose::CacheKey>>(
    digest: Digest<purpose::CacheKey>,
    epoch: Epoch,
    other: CacheKey,
) -> CacheKey {
    let _ = (digest, epoch, &other, P::LAYER);
    other
}

fn main() {}
