//! What an operator with a grant reads across tenants: the declared reports, on a role of their own.

mod tx;

use std::fmt;
use std::sync::Arc;

use sqlx::postgres::{PgStatement, PgTypeInfo};
use sqlx::{Postgres, SqlStr};
use tenancy_core::{CrossTenantGrant, Crossing, Gate};

use crate::database::{Database, Inspected, Shared};
use crate::declaration::Declaration;
use crate::error::PgError;
use crate::executor::{Step, executor};
use crate::holder::Holder;
use crate::options::PgOptions;
use crate::pool::Pool;
use crate::scope::Scope;
use crate::seeds::Seeds;
use crate::statement::OneStatement;
use crate::stream::Outlet;
pub use tx::ReportTx;

/// The declared reports, as far as an operator's grant reaches: one tenant's rows, or every tenant's.
///
/// `&Reports` is a [`sqlx::Executor`], each statement in a READ ONLY transaction of its own. [`read`](Self::read) gives one
/// for several statements, which then see the same snapshot. There is nothing that writes.
///
/// The grant is asked before each statement and while rows are read: expired, revoked or, for one tenant, suspended or
/// erased meanwhile, it ends there. Statements are held by the guard, as a tenant's are.
///
/// Dropped, or with its futures dropped at any await: the connection is proven clean or closed, as everywhere.
pub struct Reports<'g> {
    shared: Arc<Shared>,
    crossing: Crossing<'g>,
    scope: Arc<Scope>,
}

/// The connections of the role that reads reports.
pub(crate) struct ReportPool {
    pub(crate) pool: Arc<Pool>,
    options: PgOptions,
    seeds: Arc<Seeds>,
}

impl ReportPool {
    pub(crate) fn new(gate: Gate, options: PgOptions, declaration: &Declaration) -> Self {
        let seeds = options.seeds(declaration.setting());
        let pool = Pool::new(gate, options.connect_options(), seeds.clone(), options.limits());
        Self { pool, options, seeds: Arc::new(seeds) }
    }

    /// What the server holds of the reach: a row key that is the one tenant's, or that it is every tenant, and in signed
    /// mode a seal of either.
    fn scope(&self, declaration: &Declaration, crossing: &Crossing<'_>) -> Result<Scope, PgError> {
        let (setting, keys) = (declaration.setting_name(), self.options.keys());
        match crossing.tenant() {
            Some(tenant) if !declaration.takes(tenant.row_key()) => Err(PgError::RowKeyType),
            Some(tenant) => Scope::of_report(setting, tenant, keys, &self.seeds),
            None => Ok(Scope::of_reports(setting, keys, &self.seeds)),
        }
    }
}

impl Database<Inspected> {
    /// The declared reports, for an operator with a grant: of [`Reach::One`](tenancy_core::Reach) that tenant's rows alone,
    /// of [`Reach::Every`](tenancy_core::Reach) every tenant's, and of either the declared columns.
    ///
    /// # Cross-tenant access
    /// What it reads belongs to tenants that did not present a credential. The use of the grant, with operator, reason and
    /// case, is on record in the operators' chain before this returns, so before the first statement, and every affected
    /// tenant lists it. The server holds the reach by policies, the role that connects has rights on the declared columns
    /// and on nothing else, and the inspection refuses one that has more.
    ///
    /// # Errors
    /// [`PgError::NoReports`] without [`PgOptions::reports`]; [`PgError::Denied`], recorded, for a grant of another realm,
    /// one that is expired or revoked, and a tenant that may not be served; [`PgError::RowKeyType`];
    /// [`PgError::Inspection`] after a re-inspection that failed. Dropped before it answers: the use may be on record
    /// without having happened.
    ///
    /// ```no_run
    /// # async fn run(
    /// #     database: tenancy_pg::Database<tenancy_pg::Inspected>,
    /// #     grant: tenancy_core::CrossTenantGrant,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// // grant = realm.operators().open(&credential, "monthly usage report", "OPS-7", Reach::Every, ttl).await?
    /// let reports = database.across(&grant).await?;
    /// let by_tenant: Vec<(uuid::Uuid, i64)> =
    ///     sqlx::query_as("select tenant_id, count(*) from note group by 1").fetch_all(&reports).await?;
    /// # let _ = by_tenant;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn across<'g>(&self, grant: &'g CrossTenantGrant) -> Result<Reports<'g>, PgError> {
        let shared = Arc::clone(self.shared());
        let pool = shared.reports.as_ref().ok_or(PgError::NoReports)?;
        shared.ensure_inspected()?;
        let crossing = grant.cross(&shared.gate, "pg.across").await?;
        let scope = Arc::new(pool.scope(&shared.declaration, &crossing)?);
        Ok(Reports { shared, crossing, scope })
    }
}

impl Reports<'_> {
    /// Begins a transaction that reads, and sees one snapshot (repeatable read).
    ///
    /// One round-trip, two in signed mode. Dropped before it answers: the connection is closed.
    ///
    /// # Errors
    /// [`PgError::Denied`], recorded; [`PgError::Busy`] when no connection came free in time; [`PgError::Inspection`]
    /// after a re-inspection that failed; or what the server said to the opening batch.
    pub async fn read(&self) -> Result<ReportTx<'_>, PgError> {
        let pool = self.shared.reports.as_ref().ok_or(PgError::NoReports)?;
        self.crossing.check("pg.report").await?;
        self.shared.ensure_inspected()?;
        ReportTx::open(&pool.pool, &pool.options, &self.crossing, &self.scope).await
    }

    fn forbidden(&self) {
        Holder::Operator(&self.crossing).forbidden();
    }

    async fn relay(&self, statement: OneStatement, out: &Outlet<Step>) -> Result<(), sqlx::Error> {
        let mut tx = self.read().await?;
        let ran = tx.relay(statement, out).await;
        tx.finish(ran).await
    }

    async fn prepare(&self, sql: SqlStr, types: &[PgTypeInfo]) -> Result<PgStatement, sqlx::Error> {
        let mut tx = self.read().await?;
        let ran = tx.prepare(sql, types).await;
        tx.finish(ran).await
    }

    async fn describe_statement(&self, sql: SqlStr) -> Result<sqlx::Describe<Postgres>, sqlx::Error> {
        let mut tx = self.read().await?;
        let ran = tx.describe_statement(sql).await;
        tx.finish(ran).await
    }
}

executor!(&'c Reports<'_>);

impl fmt::Debug for Reports<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reports({:?})", self.crossing)
    }
}
