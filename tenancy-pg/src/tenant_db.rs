//! The database as one tenant sees it.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use sqlx::postgres::{PgStatement, PgTypeInfo};
use sqlx::{Postgres, SqlStr};
use tenancy_core::{Entered, Pass, TenantContext};

use crate::database::Shared;
use crate::error::PgError;
use crate::executor::{Step, executor};
use crate::holder::Holder;
use crate::lease::Lease;
use crate::replica::{ReadPoint, Replica};
use crate::scope::{Access, Scope};
use crate::statement::OneStatement;
use crate::stream::Outlet;
use crate::tenant_tx::TenantTx;
use crate::transaction::Transaction;
use crate::tx_options::TxOptions;
use crate::witness::Witness;

/// The database in one tenant's scope. Owned, cheap to clone, `Send + Sync + 'static`.
///
/// `&TenantDb` is a [`sqlx::Executor`] that takes the place of a `&PgPool`: each statement runs in a scoped transaction
/// of its own, which is committed at the end of its rows (one that reads may need none in
/// [`Mode::Sticky`](crate::Mode::Sticky)). Read streams to their end; one that is dropped before it is rolled back. A
/// statement that the server refuses leaves a `failed` record with the rule `pg.refused`.
///
/// ```no_run
/// # async fn run(db: &tenancy_pg::TenantDb) -> Result<(), Box<dyn std::error::Error>> {
/// use tenancy_pg::OrNotVisible;
///
/// let body: Option<String> =
///     sqlx::query_scalar("select body from note where id = $1").bind(7).fetch_optional(db).await?;
/// let body = body.or_not_visible(db)?; // absent or somebody else's: one denial, on record
///
/// let mut tx = db.begin().await?;
/// sqlx::query("update note set body = $1 where id = $2").bind(body).bind(8).execute(&mut tx).await?;
/// tx.commit().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TenantDb {
    shared: Arc<Shared>,
    pass: Pass,
    scope: Arc<Scope>,
}

impl TenantDb {
    pub(crate) const fn new(shared: Arc<Shared>, pass: Pass, scope: Arc<Scope>) -> Self {
        Self { shared, pass, scope }
    }

    /// Begins a transaction that may write, read committed.
    ///
    /// One round-trip. Dropped before it answers: the connection is closed and the record says `cancelled`.
    ///
    /// # Errors
    /// [`PgError::Denied`], recorded; [`PgError::Busy`] when no connection came free in time;
    /// [`PgError::Inspection`] after a re-inspection that failed; or what the server said to the opening batch.
    pub async fn begin(&self) -> Result<TenantTx<'_>, PgError> {
        self.begin_with(TxOptions::new()).await
    }

    /// Begins a transaction in another isolation level or with other time-outs. As many round-trips, and dropped as
    /// [`begin`](Self::begin).
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub async fn begin_with(&self, options: TxOptions) -> Result<TenantTx<'_>, PgError> {
        self.open("pg.begin", options).await
    }

    /// Begins a transaction that can't write: Postgres refuses (SQLSTATE 25006). It needs no commit; dropped, it ends
    /// behind the scenes.
    ///
    /// Where there is a [replica](crate::PgOptions::replica) that has replayed what this process knows the tenant to have
    /// committed, it runs there, and may not see yet what others have; otherwise, which takes a round-trip more, on the
    /// primary. A replica may break a long read off for the sake of its replay (SQLSTATE 40001): read again.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub async fn read(&self) -> Result<TenantTx<'_>, PgError> {
        self.open_from(self.shared.replica.as_ref(), "pg.read", TxOptions::new().read_only()).await
    }

    /// As [`read`](Self::read), and sees what the transaction wrote that said so, in whichever process. From then on every
    /// [`read`](Self::read) of this tenant in this process does.
    ///
    /// # Errors
    /// [`PgError::Denied`], recorded, for a point of another tenant, subject or realm, or one that was altered; or as
    /// [`begin`](Self::begin).
    pub async fn read_after(&self, seen: &ReadPoint) -> Result<TenantTx<'_>, PgError> {
        let point = seen.open(self.pass.context())?;
        if let (Some(replica), Some(point)) = (&self.shared.replica, point) {
            replica.known().must_see(self.pass.context().life(), point);
        }
        self.read().await
    }

    /// The context.
    #[must_use]
    pub const fn context(&self) -> &TenantContext {
        self.pass.context()
    }

    pub(crate) const fn pass(&self) -> &Pass {
        &self.pass
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    async fn open(&self, action: &'static str, options: TxOptions) -> Result<TenantTx<'_>, PgError> {
        self.open_from(None, action, options).await
    }

    async fn open_from(
        &self,
        replica: Option<&Replica>,
        action: &'static str,
        options: TxOptions,
    ) -> Result<TenantTx<'_>, PgError> {
        let entered = self.enter(action).await?;
        // As much time as is left by then: asking the replica takes some.
        let opening = || {
            let remaining = self.pass.context().remaining();
            self.scope.opening(options.within(remaining, self.shared.options.shortened(remaining)))
        };
        let lease = async {
            if let Some(replica) = replica
                && let Some(lease) = replica.read(&self.pass, &self.scope, opening()).await?
            {
                return Ok(lease);
            }
            Lease::open(&self.shared.pool, &self.scope, &opening(), Witness::Tenant(self.pass.clone())).await
        };
        self.opened(entered, lease, options.access(), replica.is_some()).await
    }

    fn forbidden(&self) {
        Holder::Tenant(&self.pass, None).forbidden();
    }

    async fn relay(&self, statement: OneStatement, out: &Outlet<Step>) -> Result<(), sqlx::Error> {
        let mut tx = self.statement(statement.reads()).await?;
        let ran = tx.relay(statement, out).await;
        tx.finish(ran).await
    }

    async fn prepare(&self, sql: SqlStr, types: &[PgTypeInfo]) -> Result<PgStatement, sqlx::Error> {
        let mut tx = self.begin_with(TxOptions::new().read_only()).await?;
        let ran = tx.prepare(sql, types).await;
        tx.transaction.finish(ran).await
    }

    async fn describe_statement(&self, sql: SqlStr) -> Result<sqlx::Describe<Postgres>, sqlx::Error> {
        let mut tx = self.begin_with(TxOptions::new().read_only()).await?;
        let ran = tx.describe_statement(sql).await;
        tx.transaction.finish(ran).await
    }

    /// For a statement by itself: a transaction, or, where its tenant is kept a connection, none.
    async fn statement(&self, reads: bool) -> Result<TenantTx<'_>, PgError> {
        let remaining = self.pass.context().remaining();
        if !reads || !self.shared.options.visits(remaining) {
            return self.open("pg.statement", TxOptions::new()).await;
        }
        let entered = self.enter("pg.statement").await?;
        let lease = Lease::visit(&self.shared.pool, &self.scope, Witness::Tenant(self.pass.clone()));
        self.opened(entered, lease, Access::ReadWrite, false).await
    }

    async fn enter(&self, action: &'static str) -> Result<Entered<'_>, PgError> {
        let entered = self.pass.enter(action).await?;
        if let Err(error) = self.shared.ensure_inspected() {
            entered.failed();
            return Err(error);
        }
        Ok(entered)
    }

    async fn opened<'t>(
        &'t self,
        entered: Entered<'t>,
        lease: impl Future<Output = Result<Lease, PgError>>,
        access: Access,
        may_be_on_replica: bool,
    ) -> Result<TenantTx<'t>, PgError> {
        let holder = Holder::Tenant(&self.pass, Some(entered));
        let transaction = Transaction::open(holder, &self.scope, access, lease).await?;
        let replica = self.shared.replica.as_ref();
        Ok(TenantTx::new(&self.pass, &self.shared.declaration, transaction, replica, may_be_on_replica))
    }
}

executor!(&'c TenantDb);

impl fmt::Debug for TenantDb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantDb({:?})", self.pass.context().life())
    }
}
