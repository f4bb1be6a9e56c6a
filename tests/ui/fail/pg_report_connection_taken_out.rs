//! The connection behind a report is not handed out, not even with a reason.

use tenancy_pg::{PgError, ReportTx, TenantTx, danger};

async fn take(tx: &mut TenantTx<'_>, report: &mut ReportTx<'_>) -> Result<(), PgError> {
    let _ = (&tx, &report);
    danger::connection(report, "to write").await.map(drop)
}

fn main() {
    let _ = take;
}
