//! A transaction of a control store.

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnection, PgPool};
use sqlx::{Executor, Postgres};

/// A transaction whose connection is closed unless it was committed.
///
/// sqlx's own gives a connection back with the transaction open when a `begin` is dropped (issue 4385). The next
/// borrower's ticket or key would then be written inside it, and be gone once it is rolled back.
pub(crate) struct ControlTx {
    connection: Option<PoolConnection<Postgres>>,
}

impl ControlTx {
    pub(crate) async fn begin(pool: &PgPool) -> Result<Self, sqlx::Error> {
        let mut tx = Self { connection: Some(pool.acquire().await?) };
        tx.connection()?.execute("begin").await?;
        Ok(tx)
    }

    pub(crate) fn connection(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        self.connection.as_deref_mut().ok_or(sqlx::Error::WorkerCrashed)
    }

    /// Dropped before it answers: the transaction may or may not have been committed.
    pub(crate) async fn commit(mut self) -> Result<(), sqlx::Error> {
        self.connection()?.execute("commit").await?;
        drop(self.connection.take());
        Ok(())
    }
}

impl Drop for ControlTx {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        if tokio::runtime::Handle::try_current().is_ok() {
            connection.close_on_drop();
        } else {
            drop(connection.detach());
        }
    }
}
