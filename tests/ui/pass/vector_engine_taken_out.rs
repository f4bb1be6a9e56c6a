//! The twin of `fail/vector_engine_taken_out.rs`: one line differs.

use tenancy_vector::TenantVectors;

fn raw(vectors: &TenantVectors) {
    let _vectors = vectors;
}

fn main() {
    let _ = raw;
}
