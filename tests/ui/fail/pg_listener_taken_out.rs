//! A raw listener, which can listen to any channel, is not taken out of a tenant's.

use tenancy_pg::TenantListener;

fn raw(listener: &TenantListener) {
    let _raw = &listener.listener;
}

fn main() {
    let _ = raw;
}
