//! The twin of `fail/pg_control_pool_taken_out.rs`: one line differs.

use tenancy_pg::ControlStore;

fn raw(control: &ControlStore) {
    let _control = control;
}

fn main() {
    let _ = raw;
}
