//! The control store has no tenant's handle.

type Handle = tenancy_pg::ControlStore;

fn scope(handle: &Handle, context: &tenancy_core::TenantContext) -> bool {
    handle.scoped(context).is_ok()
}

fn main() {
    let _ = scope;
}
