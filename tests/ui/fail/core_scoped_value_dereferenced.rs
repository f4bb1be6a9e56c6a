//! A scoped value does not stand for what it holds.

use tenancy_core::{Denial, Scoped, TenantContext};

fn length(scoped: &Scoped<String>, context: &TenantContext) -> Result<usize, Denial> {
    let _ = context;
    Ok(scoped.len())
}

fn main() {
    let _ = length;
}
