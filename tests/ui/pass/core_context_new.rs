//! The twin of `fail/core_context_new.rs`: one line differs.

use tenancy_core::TenantContext;

fn main() {
    let _method = TenantContext::tenant;
}
