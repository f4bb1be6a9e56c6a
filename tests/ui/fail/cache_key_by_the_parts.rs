//! A cache key is not made of a digest through the trait of the parts.

use tenancy_cache::{CacheKey, Epoch, KeyParts};
use tenancy_core::purpose::{self, Digest};

fn made<P: KeyParts<Key = CacheKey, Purpose = purpose::CacheKey>>(
    digest: Digest<purpose::CacheKey>,
    epoch: Epoch,
    other: CacheKey,
) -> CacheKey {
    let _ = (digest, epoch, &other, P::LAYER);
    P::key(digest, epoch)
}

fn main() {}
