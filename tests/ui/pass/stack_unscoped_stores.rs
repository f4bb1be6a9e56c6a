//! The twin of `fail/stack_unscoped_stores.rs`: one line differs.

type Handle = tenancy_stack::TenantStores;

fn database(handle: &Handle) -> bool {
    handle.database().is_ok()
}

fn main() {
    let _ = database;
}
