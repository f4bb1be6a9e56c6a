//! A database begins no transaction before it is scoped.

type Handle = tenancy_pg::Database<tenancy_pg::Inspected>;

async fn begin(handle: &Handle) -> bool {
    handle.begin().await.is_ok()
}

fn main() {
    let _ = begin;
}
