//! The twin of `fail/pg_report_connection_taken_out.rs`: one line differs.

use tenancy_pg::{PgError, ReportTx, TenantTx, danger};

async fn take(tx: &mut TenantTx<'_>, report: &mut ReportTx<'_>) -> Result<(), PgError> {
    let _ = (&tx, &report);
    danger::connection(tx, "to write").await.map(drop)
}

fn main() {
    let _ = take;
}
