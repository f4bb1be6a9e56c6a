//! The database as one tenant sees it.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use sqlx::postgres::{PgRow, PgStatement, PgTypeInfo};
use sqlx::{Execute, Executor, Postgres, SqlStr};
use tenancy_core::{Denial, Entered, Pass, TenantContext};

use crate::database::Shared;
use crate::error::PgError;
use crate::guard::GUARD;
use crate::lease::Lease;
use crate::replica::{ReadPoint, Replica};
use crate::scope::{Access, Scope};
use crate::statement::OneStatement;
use crate::stream::stream;
use crate::tenant_tx::{Step, TenantTx};
use crate::tx_options::TxOptions;
use crate::witness::Witness;

/// The database in one tenant's scope. Owned, cheap to clone, `Send + Sync + 'static`.
///
/// `&TenantDb` is a [`sqlx::Executor`] that takes the place of a `&PgPool`: each statement runs in a scoped transaction
/// of its own, which is committed at the end of its rows (one that reads may need none in
/// [`Mode::Sticky`](crate::Mode::Sticky)). Read streams to their end; one that is dropped before it is rolled back.
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
        let mut tx = self.opened(entered, lease, options.access()).await?;
        tx.may_be_on_replica = replica.is_some();
        Ok(tx)
    }

    fn forbidden(&self) {
        self.pass.failed_as("pg.statement", GUARD);
    }

    /// For a statement by itself: a transaction, or, where its tenant is kept a connection, none.
    async fn statement(&self, reads: bool) -> Result<TenantTx<'_>, PgError> {
        let remaining = self.pass.context().remaining();
        if !reads || !self.shared.options.visits(remaining) {
            return self.open("pg.statement", TxOptions::new()).await;
        }
        let entered = self.enter("pg.statement").await?;
        let lease = Lease::visit(&self.shared.pool, &self.scope, Witness::Tenant(self.pass.clone()));
        self.opened(entered, lease, Access::ReadWrite).await
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
    ) -> Result<TenantTx<'t>, PgError> {
        match tokio::time::timeout(entered.context().remaining(), lease).await {
            Err(_elapsed) => Err(entered.deny(Denial::DeadlinePassed).into()),
            Ok(Err(PgError::Denied(denial))) => Err(entered.deny(denial).into()),
            Ok(Err(error)) => {
                entered.failed();
                Err(error)
            }
            Ok(Ok(lease)) => Ok(TenantTx::new(
                &self.pass,
                &self.shared.declaration,
                Arc::clone(&self.scope),
                entered,
                lease,
                self.shared.replica.as_ref(),
                access,
            )),
        }
    }
}

impl<'c> Executor<'c> for &'c TenantDb {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Step, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let statement = OneStatement::take(query, || self.forbidden());
        stream(move |out| async move {
            let statement = statement?;
            let mut tx = self.statement(statement.reads()).await?;
            let ran = tx.relay(statement, &out).await;
            finish(tx, ran).await
        })
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let statement = OneStatement::take(query, || self.forbidden());
        Box::pin(async move {
            let statement = statement?;
            let mut tx = self.statement(statement.reads()).await?;
            let ran = tx.first_row(statement).await;
            finish(tx, ran).await
        })
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [PgTypeInfo],
    ) -> BoxFuture<'e, Result<PgStatement, sqlx::Error>>
    where
        'c: 'e,
    {
        Box::pin(async move {
            let mut tx = self.begin_with(TxOptions::new().read_only()).await?;
            let statement = tx.prepare(sql, parameters).await?;
            tx.rollback().await?;
            Ok(statement)
        })
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<sqlx::Describe<Postgres>, sqlx::Error>>
    where
        'c: 'e,
    {
        Box::pin(async move {
            let mut tx = self.begin_with(TxOptions::new().read_only()).await?;
            let described = tx.describe_statement(sql).await?;
            tx.rollback().await?;
            Ok(described)
        })
    }
}

/// Commits what went well.
async fn finish<T>(tx: TenantTx<'_>, ran: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
    match ran {
        Ok(value) => {
            tx.commit().await?;
            Ok(value)
        }
        Err(error) => {
            tx.fail();
            Err(error)
        }
    }
}

impl fmt::Debug for TenantDb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantDb({:?})", self.pass.context().life())
    }
}
