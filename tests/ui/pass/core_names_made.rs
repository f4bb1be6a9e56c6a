//! The twin of `fail/core_names_made.rs`: one line differs.

use tenancy_core::purpose::PointId;
use tenancy_core::{Fields, Names, TenantContext};

fn name(context: &TenantContext) -> Option<[u8; 32]> {
    let names: Names<'_, PointId> = context.names().ok()?;
    Some(*names.derive(&Fields::new()).as_bytes())
}

fn main() {
    let _ = name;
}
