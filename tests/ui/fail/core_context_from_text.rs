//! A context is not converted from a text.

type Made = tenancy_core::TenantContext;

fn main() {
    let _made: Made = "acme".into();
}
