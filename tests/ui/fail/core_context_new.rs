//! A context has no constructor that a user can call.

use tenancy_core::TenantContext;

fn main() {
    let _method = TenantContext::new;
}
