//! A raw pool is not taken out of the control store.

use tenancy_pg::ControlStore;

fn raw(control: &ControlStore) {
    let _raw = &control.pool;
}

fn main() {
    let _ = raw;
}
