//! Ways around, in one place so that a review finds them. Each is in the lint fragment of `guardrails/`.

use sqlx::postgres::PgConnection;

use crate::error::PgError;
use crate::tenant_tx::TenantTx;

/// The connection of a transaction, for a function that insists on one.
///
/// The transaction goes on in the tenant's scope, and its end proves that as always. The connection is closed then and
/// serves nobody else. Begin nothing on it: sqlx does not know that a transaction is open, and its `BEGIN` and `COMMIT`
/// would be those of this one. Its errors are sqlx's own and quote what they like.
///
/// Dropped before it answers: nothing was handed out. The record may be written all the same.
///
/// # Cross-tenant access
/// Nobody looks at the statements that run on it: they may change the setting, read any tenant's rows and put it back.
/// The use and its reason are on record, in the tenant's chain, before the connection is handed over.
///
/// # Errors
/// [`PgError::Denied`], among them [`Denial::AuditUnavailable`](tenancy_core::Denial::AuditUnavailable) when it can't
/// be recorded; [`PgError::Interrupted`].
///
/// ```no_run
/// # async fn run(db: &tenancy_pg::TenantDb) -> Result<(), Box<dyn std::error::Error>> {
/// use tenancy_pg::danger;
///
/// let mut tx = db.begin().await?;
/// let connection = danger::connection(&mut tx, "a library that takes a PgConnection only").await?;
/// sqlx::raw_sql("select 1").execute(connection).await?;
/// tx.commit().await?;
/// # Ok(())
/// # }
/// ```
pub async fn connection<'c>(tx: &'c mut TenantTx<'_>, reason: &'static str) -> Result<&'c mut PgConnection, PgError> {
    tx.hand_out(reason).await
}
