//! What all tenants share is not made through one tenant's handle.

use tenancy_vector::*;

type Handle = TenantVectors;

async fn call(handle: &Handle) -> bool {
    handle.prepare().await.is_ok()
}

fn main() {
    let _ = call;
}
