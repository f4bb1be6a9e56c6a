//! A tenant's stores are not built as a struct literal.

use tenancy_stack::TenantStores;

fn forge(other: TenantStores) -> TenantStores {
    TenantStores { ..other }
}

fn main() {
    let _ = forge;
}
