//! The twin of `fail/pg_uninspected_begin_with.rs`: one line differs.

use tenancy_pg::TxOptions;

type Handle = tenancy_pg::TenantDb;

async fn begin(handle: &Handle) -> bool {
    handle.begin_with(TxOptions::new()).await.is_ok()
}

fn main() {
    let _ = begin;
}
