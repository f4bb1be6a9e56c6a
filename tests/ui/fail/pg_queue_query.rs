//! The job queue runs no statement of a caller's.

type Handle = tenancy_pg::Queue;

fn count(handle: &Handle) {
    let _running = sqlx::query("select count(*) from documents").execute(handle);
}

fn main() {
    let _ = count;
}
