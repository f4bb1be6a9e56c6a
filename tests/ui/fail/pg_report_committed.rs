//! A report is not committed: there is nothing to keep.

use tenancy_pg::{PgError, ReportTx};

async fn keep(tx: ReportTx<'_>) -> Result<(), PgError> {
    tx.commit().await
}

fn main() {
    let _ = keep;
}
