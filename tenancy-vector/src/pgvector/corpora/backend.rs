//! The back end of shared corpora.

use std::fmt;

use async_trait::async_trait;
use tenancy_core::{Life, StoreVerdict};
use tenancy_pg::sqlx::postgres::PgConnectOptions;
use tenancy_pg::{Database, Inspected};

use super::super::error::PgVectorError;
use super::super::login::Login;
use super::super::session::{Tenant, within};
use super::super::{erase, gather, reads, write};
use super::drift;
use super::tables::{PUBLISHES, PgCorpusTables, published_by};
use crate::backend::{ScoredPayload, StoredPayload, VectorBackend};
use crate::error::BackendError;
use crate::filter::FilterValue;
use crate::id::PointKey;
use crate::request::{CountRequest, FacetRequest, QueryRequest, ScrollRequest, WriteRequest};
use crate::schema::Schema;
use crate::scope::{AskedBy, DropScope, VectorScope, WriteScope};

/// Points of shared corpora in two tables of an inspected database: a back end for
/// [`SharedVectors`](crate::SharedVectors).
///
/// A tenant's reads run in a transaction of its own, on the service's role, which may read there and nothing else. What is
/// published is written on another role, on a connection of its own, which sees the one corpus that the grant is for and no
/// tenant's row. So a statement that a tenant smuggles in writes no corpus, whatever it says.
///
/// A read that is dropped ends its transaction; a write that is dropped, which [`CorpusWriter`](crate::CorpusWriter) does
/// not do, is rolled back by the server unless it was committed.
pub struct PgCorpusBackend {
    database: Database<Inspected>,
    tables: PgCorpusTables,
    publisher: Option<Login>,
}

impl PgCorpusBackend {
    /// On a database of the realm that was inspected by a declaration with the table of points among its global tables. It
    /// reads; whoever is to write gives it a login with [`publishing_as`](Self::publishing_as).
    ///
    /// # Errors
    /// [`PgVectorError::CorporaNotDeclared`].
    pub fn new(database: Database<Inspected>, tables: PgCorpusTables) -> Result<Self, PgVectorError> {
        tables.ensure_declared(database.declaration())?;
        Ok(Self { database, tables, publisher: None })
    }

    /// With the login of the role that [`PgCorpusTables::migration_sql`] lets publish, for the process that publishes. It is
    /// used for nothing else, each time on a connection of its own; a role that policies do not hold, that can reach rows of
    /// tenants, or that can change another global table, is refused: another pair of tables has another role.
    #[must_use]
    pub fn publishing_as(mut self, login: PgConnectOptions) -> Self {
        self.publisher = Some(Login::new(login, "publishes", &self.database));
        self
    }

    fn reader(&self, scope: &VectorScope<'_>) -> Result<Tenant<'_>, BackendError> {
        match scope.asked_by() {
            AskedBy::Reader(context) => Tenant::reader(&self.database, &self.tables.pair, context, scope.life()),
            AskedBy::Tenant(_) | AskedBy::Publisher | AskedBy::Erasure => Err(BackendError::because(CORPORA_ALONE)),
        }
    }

    /// The login that publishes, and the corpus.
    fn publisher(&self, scope: &VectorScope<'_>) -> Result<(&Login, Life), BackendError> {
        match scope.asked_by() {
            AskedBy::Publisher => {
                let login = self.publisher.as_ref().ok_or_else(|| BackendError::because(READS_ALONE))?;
                Ok((login, scope.life()))
            }
            AskedBy::Tenant(_) | AskedBy::Reader(_) | AskedBy::Erasure => Err(BackendError::because(CORPORA_ALONE)),
        }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl VectorBackend for PgCorpusBackend {
    /// Makes nothing, since neither role is the owner: looks whether what the owner's migration made is there, protected,
    /// and for this schema; and whether the role that publishes, where one was given, is one that policies hold, with the
    /// rights that the migration gives and no other.
    async fn prepare(&self, schema: &Schema) -> Result<(), BackendError> {
        if schema != self.tables.pair.schema() {
            return Err(BackendError::unfit("the tables were declared with another schema of vectors"));
        }
        drift::look(&self.database, &self.tables.pair).await?;
        if let Some(publisher) = &self.publisher {
            publisher.look(&self.tables.pair, PUBLISHES, &published_by(true)).await?;
        }
        Ok(())
    }

    async fn write(&self, scope: &WriteScope<'_>, request: WriteRequest) -> Result<(), BackendError> {
        let (login, corpus) = self.publisher(scope)?;
        let mut session = login.begin(&self.tables.pair, corpus).await?;
        let done = write::all(&mut session, request).await;
        session.end(done).await
    }

    async fn query(
        &self,
        scope: &VectorScope<'_>,
        requests: &[QueryRequest],
    ) -> Result<Vec<Vec<ScoredPayload>>, BackendError> {
        within!(self.reader(scope), gather::options(requests), |session| gather::answers(&mut session, requests))
    }

    async fn facet(
        &self,
        scope: &VectorScope<'_>,
        request: FacetRequest,
    ) -> Result<Vec<(FilterValue, u64)>, BackendError> {
        within!(self.reader(scope), reads::options(), |session| reads::facet(&mut session, &request))
    }

    async fn scroll(
        &self,
        scope: &VectorScope<'_>,
        request: ScrollRequest,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        within!(self.reader(scope), reads::options(), |session| reads::scroll(&mut session, &request))
    }

    async fn retrieve(
        &self,
        scope: &VectorScope<'_>,
        keys: Vec<PointKey>,
        vectors: bool,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        within!(self.reader(scope), reads::options(), |session| reads::retrieve(&mut session, &keys, vectors))
    }

    async fn count(&self, scope: &VectorScope<'_>, request: CountRequest) -> Result<u64, BackendError> {
        within!(self.reader(scope), reads::options(), |session| reads::count(&mut session, &request))
    }

    async fn vacate(&self, _scope: &WriteScope<'_>) -> Result<(), BackendError> {
        Ok(())
    }

    /// In bounded portions, each on its own; once it is closed the server takes no point of the corpus any more.
    async fn drop_partition(&self, scope: &DropScope<'_>) -> Result<(), BackendError> {
        let (login, corpus) = self.publisher(scope)?;
        erase::drop_life(login, &self.tables.pair, corpus).await
    }

    /// As of a tenant's life: [`LogicalOnly`](StoreVerdict::LogicalOnly) at best.
    async fn verify_dropped(&self, scope: &DropScope<'_>) -> Result<StoreVerdict, BackendError> {
        let (login, corpus) = self.publisher(scope)?;
        erase::verify(login, &self.tables.pair, corpus).await
    }
}

impl fmt::Debug for PgCorpusBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PgCorpusBackend({})", self.tables.pair.points)
    }
}

const CORPORA_ALONE: &str = "these tables keep points of shared corpora alone";
const READS_ALONE: &str = "no login was given to publish with";
