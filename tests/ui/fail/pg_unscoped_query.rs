//! A database runs no statement before it is scoped.

type Handle = tenancy_pg::Database<tenancy_pg::Inspected>;

async fn count(handle: &Handle) -> bool {
    sqlx::query("select count(*) from documents").execute(handle).await.is_ok()
}

fn main() {
    let _ = count;
}
