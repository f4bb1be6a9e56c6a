//! Locks of one tenant.

use tenancy_core::Fields;
use tenancy_core::purpose::Lock;

use crate::error::PgError;
use crate::tenant_tx::TenantTx;

impl TenantTx<'_> {
    /// Takes a lock of this tenant's by a name, and holds it to the end of the transaction; waits while another
    /// transaction holds it. The wait is bounded by [`PgOptions::lock_timeout`](crate::PgOptions::lock_timeout).
    ///
    /// Two tenants never wait for each other's lock of the same name, and nobody can name another's: the number is
    /// derived from the life and the name with a key. Postgres has 64 bits for it, so of 2^32 locks held at once two
    /// could be one; whoever holds it waits for nothing worse than that. Held numbers are shown to every session
    /// (`pg_locks`); they say nothing of tenant or name.
    ///
    /// Dropped before it answers: as any statement of the transaction.
    ///
    /// # Errors
    /// As any statement of the transaction; SQLSTATE 55P03 when the wait took too long. [`PgError::LockOnReplica`] in
    /// [`TenantDb::read`](crate::TenantDb::read) where a replica is configured, whoever serves it.
    pub async fn lock(&mut self, name: &str) -> Result<(), PgError> {
        let key = self.lock_key(name)?;
        sqlx::query("select pg_catalog.pg_advisory_xact_lock($1)").bind(key).execute(&mut *self).await?;
        Ok(())
    }

    /// As [`lock`](Self::lock), without waiting: whether it was free, or is held by this transaction already.
    ///
    /// # Errors
    /// As [`lock`](Self::lock), without the wait.
    pub async fn try_lock(&mut self, name: &str) -> Result<bool, PgError> {
        let key = self.lock_key(name)?;
        let sql = "select pg_catalog.pg_try_advisory_xact_lock($1)";
        Ok(sqlx::query_scalar(sql).bind(key).fetch_one(&mut *self).await?)
    }

    fn lock_key(&self, name: &str) -> Result<i64, PgError> {
        if self.may_be_on_replica {
            return Err(PgError::LockOnReplica);
        }
        let mut fields = Fields::new();
        fields.text(1, name);
        let digest = self.pass().context().derive::<Lock>(&fields)?;
        let (head, _) = digest.as_bytes().split_first_chunk().unwrap_or((&[0; 8], &[]));
        Ok(i64::from_be_bytes(*head))
    }
}
