//! The twin of `fail/pg_reports_begin.rs`: one line differs.

use tenancy_pg::{PgError, Reports};

async fn write(reports: &Reports<'_>) -> Result<(), PgError> {
    reports.read().await.map(drop)
}

fn main() {
    let _ = write;
}
