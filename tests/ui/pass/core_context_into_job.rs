//! The twin of `fail/core_context_into_job.rs`: one line differs.

use tenancy_core::TenantContext;

fn payload(context: &TenantContext) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(context.issuer())
}

fn main() {
    let _ = payload;
}
