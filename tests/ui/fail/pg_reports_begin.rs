//! Reports begin no transaction that writes.

use tenancy_pg::{PgError, Reports};

async fn write(reports: &Reports<'_>) -> Result<(), PgError> {
    reports.begin().await.map(drop)
}

fn main() {
    let _ = write;
}
