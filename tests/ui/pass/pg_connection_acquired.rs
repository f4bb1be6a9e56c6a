//! The twin of `fail/pg_connection_acquired.rs`: one line differs.

type Handle = sqlx::PgPool;

async fn raw(handle: &Handle) -> bool {
    sqlx::Acquire::acquire(handle).await.is_ok()
}

fn main() {
    let _ = raw;
}
