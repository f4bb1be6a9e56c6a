//! The control store runs no statement of a caller's.

type Handle = tenancy_pg::ControlStore;

async fn count(handle: &Handle) -> bool {
    sqlx::query("select count(*) from documents").execute(handle).await.is_ok()
}

fn main() {
    let _ = count;
}
