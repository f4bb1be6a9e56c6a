//! The twin of `fail/pg_report_committed.rs`: one line differs.

use tenancy_pg::{PgError, ReportTx};

async fn keep(tx: ReportTx<'_>) -> Result<(), PgError> {
    tx.end().await
}

fn main() {
    let _ = keep;
}
