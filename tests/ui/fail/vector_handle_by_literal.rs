//! A tenant's vectors are not built as a struct literal.

use tenancy_vector::TenantVectors;

fn forge(other: TenantVectors) -> TenantVectors {
    TenantVectors { ..other }
}

fn main() {
    let _ = forge;
}
