//! A database that was not inspected begins no transaction with options either.

use tenancy_pg::TxOptions;

type Handle = tenancy_pg::Database<tenancy_pg::Uninspected>;

async fn begin(handle: &Handle) -> bool {
    handle.begin_with(TxOptions::new()).await.is_ok()
}

fn main() {
    let _ = begin;
}
