//! The stores of all tenants are not reached through one tenant's.

use tenancy_stack::TenantStores;

fn raw(mine: &TenantStores) {
    let _raw = &mine.stores;
}

fn main() {
    let _ = raw;
}
