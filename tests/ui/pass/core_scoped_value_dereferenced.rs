//! The twin of `fail/core_scoped_value_dereferenced.rs`: one line differs.

use tenancy_core::{Denial, Scoped, TenantContext};

fn length(scoped: &Scoped<String>, context: &TenantContext) -> Result<usize, Denial> {
    let _ = context;
    scoped.peek(context).map(|text| text.len())
}

fn main() {
    let _ = length;
}
