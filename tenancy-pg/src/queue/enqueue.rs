//! The service's side: adding a job inside a tenant's transaction.

use std::time::Duration;

use tenancy_core::JobKind;
use tenancy_core::purpose::JobPayload;

use super::{SCHEMA, place};
use crate::error::PgError;
use crate::registry::row_key_text;
use crate::tenant_tx::TenantTx;

macro_rules! insert {
    ($cast:literal) => {
        concat!(
            "insert into tenancy_queue.job (queue, kind, row_key, ticket, payload) values ($1, $2, $3::text::",
            $cast,
            ", $4, $5)"
        )
    };
}

impl TenantTx<'_> {
    /// Adds a job for [workers](crate::Queue), which is there if and only if this transaction commits.
    ///
    /// The payload is sealed with the tenant's key, and the ticket that goes with it binds the sealed bytes: the job gets
    /// at most the permissions of this context, for at most `ttl`. Dropped before it answers: as any statement of the
    /// transaction.
    ///
    /// # Errors
    /// [`PgError::Denied`] as [`TenantContext::ticket`](tenancy_core::TenantContext::ticket), recorded; or as any
    /// statement of the transaction. After the server has refused, nothing but a rollback is taken.
    pub async fn enqueue<K: JobKind>(&mut self, payload: &[u8], ttl: Duration) -> Result<(), PgError> {
        let context = self.pass().context();
        let sealed = context.seal::<JobPayload>(SCHEMA, &place::<K>(), None, payload)?.into_bytes();
        let ticket = context.ticket::<K>(&sealed, ttl)?.to_wire();
        let (key, row_key) = row_key_text(context.record().row_key())?;
        // The type of the column is the same in all of a declaration, so the cast is one of three fixed words.
        let sql = match key {
            crate::RowKeyType::Uuid => insert!("uuid"),
            crate::RowKeyType::BigInt => insert!("bigint"),
            crate::RowKeyType::Text => insert!("text"),
        };
        let insert = sqlx::query(sql).bind(K::QUEUE).bind(K::NAME).bind(row_key).bind(ticket).bind(sealed);
        insert.execute(&mut *self).await?;
        Ok(())
    }
}
