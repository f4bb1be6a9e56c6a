//! The stores of all tenants are not taken out of a service's.

use tenancy_stack::Stores;

fn raw(stores: &Stores) {
    let _raw = &stores.shared;
}

fn main() {
    let _ = raw;
}
