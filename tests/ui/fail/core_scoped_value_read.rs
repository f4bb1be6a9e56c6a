//! A scoped value is not read without a context.

use tenancy_core::{Denial, Scoped, TenantContext};

fn read(scoped: Scoped<String>, context: &TenantContext) -> Result<String, Denial> {
    let _ = context;
    Ok(scoped.value)
}

fn main() {
    let _ = read;
}
