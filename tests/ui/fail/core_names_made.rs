//! Nobody but the core has a key to derive names with.

use tenancy_core::purpose::PointId;
use tenancy_core::{Fields, Names, TenantContext};

fn name(context: &TenantContext) -> Option<[u8; 32]> {
    let names: Names<'_, PointId> = Names::new(&[0; 32]);
    Some(*names.derive(&Fields::new()).as_bytes())
}

fn main() {
    let _ = name;
}
