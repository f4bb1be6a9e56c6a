//! A transaction on the points of one owner, and the beginning of each statement in it.

use tenancy_core::{Life, Reason, TenantContext};
use tenancy_pg::sqlx::postgres::{PgArguments, PgConnection, PgRow};
use tenancy_pg::sqlx::query::Query;
use tenancy_pg::sqlx::{self, Connection, Postgres, QueryBuilder};
use tenancy_pg::{Database, Inspected, PgError, TenantDb, TenantTx, TxOptions};

use super::error::refused;
use super::filter;
use super::key::Key;
use super::pair::Pair;
use crate::error::BackendError;
use crate::filter::Condition;

/// A tenant's way into the database, to its own points or to those of a shared corpus.
pub(super) struct Tenant<'a> {
    db: TenantDb,
    tables: &'a Pair,
    owner: Key,
    life: Life,
}

/// A transaction on the points of one owner.
pub(super) struct Session<'t> {
    pub(super) tx: Tx<'t>,
    pub(super) tables: &'t Pair,
    /// The tenant's row key, or the corpus' mark.
    pub(super) owner: Key,
    pub(super) life: Life,
}

/// In whose name the server is asked.
pub(super) enum Tx<'t> {
    /// The service's role, held to a tenant.
    Tenant(Box<TenantTx<'t>>),
    /// The role that publishes, held to a corpus, in a transaction of a connection of its own.
    Publisher(PgConnection),
}

pub(super) type Statement = QueryBuilder<Postgres>;

impl<'a> Tenant<'a> {
    /// To the tenant's own points.
    pub(super) fn new(
        database: &Database<Inspected>,
        tables: &'a Pair,
        context: &TenantContext,
        life: Life,
    ) -> Result<Self, BackendError> {
        let db = database.scoped(context).map_err(refused)?;
        let owner = Key::of(context.record().row_key()).filter(|owner| owner.kind() == tables.keys);
        let owner = owner.ok_or_else(|| BackendError::Failed(Reason::told(PgError::RowKeyType)))?;
        Ok(Self { db, tables, owner, life })
    }

    /// To the points of a shared corpus.
    pub(super) fn reader(
        database: &Database<Inspected>,
        tables: &'a Pair,
        context: &TenantContext,
        corpus: Life,
    ) -> Result<Self, BackendError> {
        let db = database.scoped(context).map_err(refused)?;
        Ok(Self { db, tables, owner: Key::of_corpus(corpus), life: corpus })
    }

    pub(super) async fn begin(&self, options: TxOptions) -> Result<Session<'_>, BackendError> {
        let tx = self.db.begin_with(options).await.map_err(refused)?;
        Ok(Session { tx: Tx::Tenant(Box::new(tx)), tables: self.tables, owner: self.owner.clone(), life: self.life })
    }
}

impl Session<'_> {
    /// Commits what went well: the server then has shown, also of a read, that it was this tenant's to its end.
    pub(super) async fn end<T>(self, done: Result<T, BackendError>) -> Result<T, BackendError> {
        match (done, self.tx) {
            (Ok(value), Tx::Tenant(tx)) => {
                tx.commit().await.map_err(refused)?;
                Ok(value)
            }
            (Ok(value), Tx::Publisher(mut connection)) => {
                sqlx::raw_sql("commit").execute(&mut connection).await.map_err(refused)?;
                let _closed = connection.close().await;
                Ok(value)
            }
            // Nothing is kept, whatever comes of it.
            (Err(error), Tx::Tenant(tx)) => {
                let _rolled_back = tx.rollback().await;
                Err(error)
            }
            (Err(error), Tx::Publisher(connection)) => {
                let _closed = connection.close().await;
                Err(error)
            }
        }
    }

    /// `select <columns> from points where it is this life's`.
    pub(super) fn select(&self, columns: &str) -> Statement {
        self.own(format!("select {columns} from {} p", self.tables.points))
    }

    /// A statement on points `p`, held to this owner and this life, whatever row level security says.
    pub(super) fn own(&self, statement: impl Into<String>) -> Statement {
        let mut statement = Statement::new(statement);
        self.push_own(&mut statement);
        statement
    }

    /// ` where it is this life's`.
    pub(super) fn push_own(&self, statement: &mut Statement) {
        statement.push(format!(" where p.{} = ", self.tables.owner()));
        self.owner.push(statement);
        statement.push(" and p.life = ").push_bind(self.life.uuid());
    }

    pub(super) async fn rows(&mut self, mut statement: Statement) -> Result<Vec<PgRow>, BackendError> {
        let query = unnamed(&mut statement);
        match &mut self.tx {
            Tx::Tenant(tx) => query.fetch_all(&mut **tx).await,
            Tx::Publisher(connection) => query.fetch_all(connection).await,
        }
        .map_err(refused)
    }

    /// Runs it, and says how many rows it touched.
    pub(super) async fn run(&mut self, mut statement: Statement) -> Result<u64, BackendError> {
        let query = unnamed(&mut statement);
        let done = match &mut self.tx {
            Tx::Tenant(tx) => query.execute(&mut **tx).await,
            Tx::Publisher(connection) => query.execute(connection).await,
        };
        Ok(done.map_err(refused)?.rows_affected())
    }
}

/// Runs a call in a transaction of the tenant.
macro_rules! within {
    ($tenant:expr, $options:expr, |$session:ident| $act:expr) => {{
        let tenant = $tenant?;
        let mut $session = tenant.begin($options).await?;
        let done = $act.await;
        $session.end(done).await
    }};
}
pub(super) use within;

/// Texts differ from call to call, so none is worth a name on the server; and a plan without a name knows the owner, which
/// finds the owner's own index.
fn unnamed(statement: &mut Statement) -> Query<'_, Postgres, PgArguments> {
    statement.build().persistent(false)
}

/// Adds what the server can tell of a condition. What is left over finds too much, never too little.
pub(super) fn and(statement: &mut Statement, condition: Option<&Condition>, tables: &Pair) {
    if let Some(condition) = condition {
        filter::narrow(statement, condition, tables);
    }
}
