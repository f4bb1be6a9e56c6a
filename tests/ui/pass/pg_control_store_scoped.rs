//! The twin of `fail/pg_control_store_scoped.rs`: one line differs.

type Handle = tenancy_pg::Database<tenancy_pg::Inspected>;

fn scope(handle: &Handle, context: &tenancy_core::TenantContext) -> bool {
    handle.scoped(context).is_ok()
}

fn main() {
    let _ = scope;
}
