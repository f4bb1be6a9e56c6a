//! The twin of `fail/stack_unscoped_vectors.rs`: one line differs.

type Handle = tenancy_stack::TenantStores;

fn vectors(handle: &Handle) -> bool {
    handle.vectors().is_ok()
}

fn main() {
    let _ = vectors;
}
