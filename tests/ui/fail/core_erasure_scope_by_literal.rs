//! Nothing is erased on anybody's word but the realm's.

use tenancy_core::ErasureScope;

fn forge(other: ErasureScope<'_>) -> ErasureScope<'_> {
    ErasureScope { ..other }
}

fn main() {
    let _ = forge;
}
