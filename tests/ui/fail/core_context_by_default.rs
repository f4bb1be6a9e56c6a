//! A context has no default.

type Made = tenancy_core::TenantContext;

fn main() {
    let _made: Made = Default::default();
}
