//! Points are not written to a vector store before it is scoped.

use tenancy_vector::Point;

type Handle = tenancy_vector::VectorStore;

async fn write(handle: &Handle, points: Vec<Point>) -> bool {
    handle.upsert(points).await.is_ok()
}

fn main() {
    let _ = write;
}
