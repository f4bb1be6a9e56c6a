//! A report's transaction does not outlive the reports that it was begun with.

use tenancy_pg::{PgError, ReportTx, Reports};

async fn keep(reports: &'static Reports<'static>, own: Reports<'static>) -> Result<ReportTx<'static>, PgError> {
    let _ = (reports, &own);
    own.read().await
}

fn main() {
    let _ = keep;
}
