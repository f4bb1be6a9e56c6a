//! The twin of `fail/vector_corpus_deleted_from_by_a_tenant.rs`: one line differs.

use tenancy_vector::*;

type Handle = TenantVectors;

async fn call(handle: &Handle) -> bool {
    handle.change(vec![Change::Delete(Select::All)]).await.is_ok()
}

fn main() {
    let _ = call;
}
