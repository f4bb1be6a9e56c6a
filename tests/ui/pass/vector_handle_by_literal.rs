//! The twin of `fail/vector_handle_by_literal.rs`: one line differs.

use tenancy_vector::TenantVectors;

fn forge(other: TenantVectors) -> TenantVectors {
    other
}

fn main() {
    let _ = forge;
}
