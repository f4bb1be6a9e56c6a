//! A listener runs no statement.

type Handle = tenancy_pg::TenantListener;

fn count(handle: &Handle) {
    let _running = sqlx::query("select count(*) from documents").execute(handle);
}

fn main() {
    let _ = count;
}
