//! A context is not serialised into a job's payload; a ticket is the way.

use tenancy_core::TenantContext;

fn payload(context: &TenantContext) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(context)
}

fn main() {
    let _ = payload;
}
