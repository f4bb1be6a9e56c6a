//! The twin of `fail/vector_unscoped_upsert.rs`: one line differs.

use tenancy_vector::Point;

type Handle = tenancy_vector::TenantVectors;

async fn write(handle: &Handle, points: Vec<Point>) -> bool {
    handle.upsert(points).await.is_ok()
}

fn main() {
    let _ = write;
}
