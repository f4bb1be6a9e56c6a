//! Tables that are the same for everybody.

use std::fmt;
use std::sync::Arc;

use sqlx::postgres::{PgStatement, PgTypeInfo};
use sqlx::{Postgres, SqlStr};

use crate::database::Shared;
use crate::error::PgError;
use crate::executor::{Step, executor};
use crate::holder::Holder;
use crate::lease::Lease;
use crate::scope::{Access, Scope};
use crate::statement::OneStatement;
use crate::stream::Outlet;
use crate::transaction::Transaction;
use crate::tx_options::TxOptions;

/// Reads what is declared global, with no tenant set.
///
/// `&Untenanted` is a [`sqlx::Executor`]; each statement runs in a READ ONLY transaction of its own. Tenant tables show
/// no row: their policies compare with NULL, and the inspection has made sure that every one of them is forced. Global
/// tables are written by migrations.
#[derive(Clone)]
pub struct Untenanted {
    shared: Arc<Shared>,
    scope: Arc<Scope>,
}

impl Untenanted {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let scope = Arc::new(Scope::nobody(shared.declaration.setting_name(), &shared.seeds));
        Self { shared, scope }
    }

    async fn open(&self) -> Result<Transaction<'_>, PgError> {
        self.shared.gate.ensure_open()?;
        self.shared.ensure_inspected()?;
        let opening = self.scope.opening(TxOptions::new().read_only());
        let holder = Holder::Nobody(&self.shared.gate);
        let lease = Lease::open(&self.shared.pool, &self.scope, &opening, holder.witness());
        Transaction::open(holder, &self.scope, Access::ReadOnly, lease).await
    }

    fn forbidden(&self) {
        Holder::Nobody(&self.shared.gate).forbidden();
    }

    async fn relay(&self, statement: OneStatement, out: &Outlet<Step>) -> Result<(), sqlx::Error> {
        let mut tx = self.open().await?;
        let ran = tx.relay(statement, out).await;
        tx.finish(ran).await
    }

    async fn prepare(&self, sql: SqlStr, types: &[PgTypeInfo]) -> Result<PgStatement, sqlx::Error> {
        let mut tx = self.open().await?;
        let ran = tx.prepare(sql, types).await;
        tx.finish(ran).await
    }

    async fn describe_statement(&self, sql: SqlStr) -> Result<sqlx::Describe<Postgres>, sqlx::Error> {
        let mut tx = self.open().await?;
        let ran = tx.describe(sql).await;
        tx.finish(ran).await
    }
}

executor!(&'c Untenanted);

impl fmt::Debug for Untenanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Untenanted")
    }
}
