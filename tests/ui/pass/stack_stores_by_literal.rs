//! The twin of `fail/stack_stores_by_literal.rs`: one line differs.

use tenancy_stack::TenantStores;

fn forge(other: TenantStores) -> TenantStores {
    other
}

fn main() {
    let _ = forge;
}
