//! The twin of `fail/vector_corpus_written_by_a_tenant.rs`: one line differs.

use tenancy_vector::*;

type Handle = TenantVectors;

async fn call(handle: &Handle, points: Vec<Point>) -> bool {
    handle.upsert(points).await.is_ok()
}

fn main() {
    let _ = call;
}
