//! The twin of `fail/pg_retried_transaction_committed.rs`: one line differs.

use tenancy_pg::{PgError, RetryOptions, TenantDb};

async fn commit(mine: &TenantDb) -> Result<(), PgError> {
    let work = mine.with_retry(RetryOptions::new(), |tx| {
        Box::pin(async {
            tx.savepoint().await?.release().await
        })
    });
    work.await
}

fn main() {
    let _ = commit;
}
