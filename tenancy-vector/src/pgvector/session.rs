//! One tenant's transaction, and the beginning of each statement in it.

use tenancy_core::{Life, RowKey};
use tenancy_pg::sqlx::postgres::{PgArguments, PgRow};
use tenancy_pg::sqlx::query::Query;
use tenancy_pg::sqlx::{Postgres, QueryBuilder};
use tenancy_pg::{Database, Inspected, TenantDb, TenantTx, TxOptions};
use uuid::Uuid;

use super::error::refused;
use super::filter;
use super::tables::PgVectorTables;
use crate::error::BackendError;
use crate::filter::Condition;
use crate::scope::VectorScope;

/// A tenant's way into the database.
pub(super) struct Tenant<'a> {
    db: TenantDb,
    tables: &'a PgVectorTables,
    row_key: Uuid,
    life: Life,
}

/// A transaction of the tenant.
pub(super) struct Session<'t> {
    pub(super) tx: TenantTx<'t>,
    pub(super) tables: &'t PgVectorTables,
    pub(super) row_key: Uuid,
    pub(super) life: Life,
}

pub(super) type Statement = QueryBuilder<Postgres>;

impl<'a> Tenant<'a> {
    pub(super) fn new(
        database: &Database<Inspected>,
        tables: &'a PgVectorTables,
        scope: &VectorScope<'_>,
    ) -> Result<Self, BackendError> {
        // An erasure has nobody's context, and reads and writes no point.
        let context = scope.context().ok_or_else(|| BackendError::failed("the table keeps rows of tenants alone"))?;
        let db = database.scoped(context).map_err(refused)?;
        let RowKey::Uuid(row_key) = *context.record().row_key() else {
            return Err(BackendError::failed(tenancy_pg::PgError::RowKeyType));
        };
        Ok(Self { db, tables, row_key, life: scope.life() })
    }

    pub(super) async fn begin(&self, options: TxOptions) -> Result<Session<'_>, BackendError> {
        let tx = self.db.begin_with(options).await.map_err(refused)?;
        Ok(Session { tx, tables: self.tables, row_key: self.row_key, life: self.life })
    }
}

impl Session<'_> {
    /// Commits what went well: the server then has shown, also of a read, that it was this tenant's to its end.
    pub(super) async fn end<T>(self, done: Result<T, BackendError>) -> Result<T, BackendError> {
        match done {
            Ok(value) => {
                self.tx.commit().await.map_err(refused)?;
                Ok(value)
            }
            Err(error) => {
                // Nothing is kept, whatever comes of it.
                let _rolled_back = self.tx.rollback().await;
                Err(error)
            }
        }
    }

    /// `select <columns> from points where it is this life's`.
    pub(super) fn select(&self, columns: &str) -> Statement {
        self.own(format!("select {columns} from {} p", self.tables.points))
    }

    /// A statement on points `p`, held to this tenant and this life, whatever row level security says.
    pub(super) fn own(&self, statement: impl Into<String>) -> Statement {
        let mut statement = Statement::new(statement);
        statement.push(" where p.tenant_id = ").push_bind(self.row_key);
        statement.push(" and p.life = ").push_bind(self.life.uuid());
        statement
    }

    pub(super) async fn rows(&mut self, mut statement: Statement) -> Result<Vec<PgRow>, BackendError> {
        unnamed(&mut statement).fetch_all(&mut self.tx).await.map_err(refused)
    }

    /// Runs it, and says how many rows it touched.
    pub(super) async fn run(&mut self, mut statement: Statement) -> Result<u64, BackendError> {
        let done = unnamed(&mut statement).execute(&mut self.tx).await.map_err(refused)?;
        Ok(done.rows_affected())
    }
}

/// Texts differ from call to call, so none is worth a name on the server; and a plan without a name knows the row key, which
/// finds the tenant's own index.
fn unnamed(statement: &mut Statement) -> Query<'_, Postgres, PgArguments> {
    statement.build().persistent(false)
}

/// Adds what the server can tell of a condition. What is left over finds too much, never too little.
pub(super) fn and(statement: &mut Statement, condition: Option<&Condition>, tables: &PgVectorTables) {
    if let Some(condition) = condition {
        filter::narrow(statement, condition, tables);
    }
}
