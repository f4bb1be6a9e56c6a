//! The twin of `fail/core_digest_for_another_purpose.rs`: one line differs.

use tenancy_core::purpose::{CacheKey, Digest, PointId};
use tenancy_core::{Denial, Fields, TenantContext};

fn point(context: &TenantContext, fields: &Fields) -> Result<Digest<PointId>, Denial> {
    let _cache: Digest<CacheKey> = context.derive(fields)?;
    context.derive::<PointId>(fields)
}

fn main() {
    let _ = point;
}
