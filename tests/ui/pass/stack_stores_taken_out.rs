//! The twin of `fail/stack_stores_taken_out.rs`: one line differs.

use tenancy_stack::TenantStores;

fn raw(mine: &TenantStores) {
    let _mine = mine;
}

fn main() {
    let _ = raw;
}
