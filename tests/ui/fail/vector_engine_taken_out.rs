//! A raw engine is not taken out of a scoped handle.

use tenancy_vector::TenantVectors;

fn raw(vectors: &TenantVectors) {
    let _engine = &vectors.points;
}

fn main() {
    let _ = raw;
}
