//! The twin of `fail/pg_report_kept.rs`: one line differs.

use tenancy_pg::{PgError, ReportTx, Reports};

async fn keep(reports: &'static Reports<'static>, own: Reports<'static>) -> Result<ReportTx<'static>, PgError> {
    let _ = (reports, &own);
    reports.read().await
}

fn main() {
    let _ = keep;
}
