//! The twin of `fail/stack_cells_taken_out.rs`: one line differs.

use tenancy_stack::Stores;

fn raw(stores: &Stores) {
    let _stores = stores;
}

fn main() {
    let _ = raw;
}
