//! A name derived for one purpose is not one for another.

use tenancy_core::purpose::{CacheKey, Digest, PointId};
use tenancy_core::{Denial, Fields, TenantContext};

fn point(context: &TenantContext, fields: &Fields) -> Result<Digest<PointId>, Denial> {
    let _cache: Digest<CacheKey> = context.derive(fields)?;
    context.derive::<CacheKey>(fields)
}

fn main() {
    let _ = point;
}
