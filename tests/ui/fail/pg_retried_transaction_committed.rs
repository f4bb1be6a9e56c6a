//! A transaction that may be run again is not committed by its work.

use tenancy_pg::{PgError, RetryOptions, TenantDb};

async fn commit(mine: &TenantDb) -> Result<(), PgError> {
    let work = mine.with_retry(RetryOptions::new(), |tx| {
        Box::pin(async {
            tx.commit().await
        })
    });
    work.await
}

fn main() {
    let _ = commit;
}
