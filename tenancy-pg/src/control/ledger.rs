//! Used job tickets on Postgres.

use async_trait::async_trait;
use sqlx::postgres::PgPool;
use tenancy_core::{LedgerError, Redeemed, Redemption, TicketLedger};

use super::record::micros;

/// Used tickets in the schema `tenancy_control`, shared by all workers.
#[derive(Clone)]
pub struct PgTicketLedger {
    pool: PgPool,
}

impl PgTicketLedger {
    pub(super) const fn new(pool: PgPool) -> Self {
        Self { pool }
    }
}

#[async_trait]
impl TicketLedger for PgTicketLedger {
    async fn redeem(&self, redemption: Redemption<'_>) -> Result<Redeemed, LedgerError> {
        let inserted =
            sqlx::query("insert into tenancy_control.ticket (id, keep_until) values ($1, $2) on conflict do nothing")
                .bind(redemption.id())
                .bind(micros(redemption.keep_until()))
                .execute(&self.pool)
                .await
                .map_err(LedgerError::new)?;
        // Ids are random, so about one in 256 sweeps. The ticket is used by now, whatever comes of that: an error here
        // would refuse it for good. The next sweep takes what this one left.
        if redemption.id().starts_with("00") {
            let sweep = "delete from tenancy_control.ticket where keep_until < extract(epoch from now()) * 1000000";
            let _swept = sqlx::query(sweep).execute(&self.pool).await;
        }
        Ok(if inserted.rows_affected() == 1 { Redeemed::First } else { Redeemed::Again })
    }
}
