//! The twin of `fail/pg_listener_taken_out.rs`: one line differs.

use tenancy_pg::TenantListener;

fn raw(listener: &TenantListener) {
    let _raw = &listener;
}

fn main() {
    let _ = raw;
}
