//! A context is not parsed from a text.

type Made = tenancy_core::TenantContext;

fn main() {
    let _made = "acme".parse::<Made>();
}
