//! A database runs no statement before it is scoped.

type Handle = tenancy_pg::Database<tenancy_pg::Inspected>;

fn count(handle: &Handle) {
    let _running = sqlx::query("select count(*) from documents").execute(handle);
}

fn main() {
    let _ = count;
}
