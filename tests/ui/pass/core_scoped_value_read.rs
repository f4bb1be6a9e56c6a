//! The twin of `fail/core_scoped_value_read.rs`: one line differs.

use tenancy_core::{Denial, Scoped, TenantContext};

fn read(scoped: Scoped<String>, context: &TenantContext) -> Result<String, Denial> {
    let _ = context;
    scoped.open(context)
}

fn main() {
    let _ = read;
}
