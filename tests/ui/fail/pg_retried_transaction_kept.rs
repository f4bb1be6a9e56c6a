//! A transaction that may be run again is not kept by its work.

use tenancy_pg::{PgError, RetryOptions, TenantDb};

async fn keep(mine: &TenantDb) -> Result<(), PgError> {
    let mut kept = None;
    let work = mine.with_retry(RetryOptions::new(), |tx| {
        kept = Some(tx);
        Box::pin(async { Ok::<_, PgError>(()) })
    });
    work.await?;
    drop(kept);
    Ok(())
}

fn main() {
    let _ = keep;
}
