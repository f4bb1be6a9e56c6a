//! The back end itself.

use std::fmt;

use async_trait::async_trait;
use tenancy_core::{Life, StoreVerdict};
use tenancy_pg::sqlx::postgres::PgConnectOptions;
use tenancy_pg::{Database, Inspected, TxOptions};

use super::error::PgVectorError;
use super::login::Login;
use super::session::{Tenant, within};
use super::tables::{ERASES, PgVectorTables};
use super::{drift, erase, gather, reads, write};
use crate::backend::{ScoredPayload, StoredPayload, VectorBackend};
use crate::error::BackendError;
use crate::filter::FilterValue;
use crate::id::PointKey;
use crate::request::{CountRequest, FacetRequest, QueryRequest, ScrollRequest, WriteRequest};
use crate::schema::Schema;
use crate::scope::{AskedBy, DropScope, VectorScope, WriteScope};

/// Points in two tables of an inspected database, each call in its tenant's own transaction.
///
/// A call that is dropped ends its transaction: nothing of it is kept, and its connection reaches the next tenant only once
/// it was shown to be clean. Dropped while it commits, a write may or may not be kept; the handle's writes run in tasks of
/// their own and are not dropped.
pub struct PgVectorBackend {
    database: Database<Inspected>,
    tables: PgVectorTables,
    eraser: Option<Login>,
}

impl PgVectorBackend {
    /// On a database of the store's realm that was inspected by these tables. It reads and writes; whoever is to erase gives
    /// it a login with [`erasing_as`](Self::erasing_as).
    ///
    /// # Errors
    /// [`PgVectorError::NotDeclared`].
    pub fn new(database: Database<Inspected>, tables: PgVectorTables) -> Result<Self, PgVectorError> {
        tables.ensure_declared(database.declaration())?;
        Ok(Self { database, tables, eraser: None })
    }

    /// With the login of the role that [`PgVectorTables::migration_sql`] lets drop lives, for the process that erases tenants:
    /// without it an erasure fails there, and nothing is dropped. It is used for nothing else, each time on a connection of
    /// its own. [`prepare`](crate::VectorStore::prepare) logs in and looks whether the role can do what it must, reaches no
    /// other tenant table and changes no global one; another pair of tables has another role.
    #[must_use]
    pub fn erasing_as(mut self, login: PgConnectOptions) -> Self {
        self.eraser = Some(Login::new(login, "drops lives", &self.database));
        self
    }

    fn eraser(&self) -> Result<&Login, BackendError> {
        self.eraser.as_ref().ok_or_else(|| BackendError::because(SERVES_ALONE))
    }

    fn tenant(&self, scope: &VectorScope<'_>) -> Result<Tenant<'_>, BackendError> {
        match scope.asked_by() {
            AskedBy::Tenant(context) => Tenant::new(&self.database, &self.tables.pair, context, scope.life()),
            // An erasure reads and writes no point, and corpora have tables of their own.
            AskedBy::Reader(_) | AskedBy::Publisher | AskedBy::Erasure => Err(BackendError::because(TENANTS_ALONE)),
        }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl VectorBackend for PgVectorBackend {
    /// Makes nothing, since the service's role is not the owner: looks whether what the owner's migration made is there,
    /// protected, and for this schema; and whether the role that drops lives, where one was given, can do that and no more.
    async fn prepare(&self, schema: &Schema) -> Result<(), BackendError> {
        if schema != self.tables.pair.schema() {
            return Err(BackendError::unfit("the tables were declared with another schema of vectors"));
        }
        drift::look(&self.database, &self.tables.pair).await?;
        match &self.eraser {
            Some(eraser) => eraser.look(&self.tables.pair, ERASES, &self.tables.erased_by()).await,
            None => Ok(()),
        }
    }

    async fn write(&self, scope: &WriteScope<'_>, request: WriteRequest) -> Result<(), BackendError> {
        within!(self.tenant(scope), TxOptions::new(), |session| write::all(&mut session, request))
    }

    async fn query(
        &self,
        scope: &VectorScope<'_>,
        requests: &[QueryRequest],
    ) -> Result<Vec<Vec<ScoredPayload>>, BackendError> {
        within!(self.tenant(scope), gather::options(requests), |session| gather::answers(&mut session, requests))
    }

    async fn facet(
        &self,
        scope: &VectorScope<'_>,
        request: FacetRequest,
    ) -> Result<Vec<(FilterValue, u64)>, BackendError> {
        within!(self.tenant(scope), reads::options(), |session| reads::facet(&mut session, &request))
    }

    async fn scroll(
        &self,
        scope: &VectorScope<'_>,
        request: ScrollRequest,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        within!(self.tenant(scope), reads::options(), |session| reads::scroll(&mut session, &request))
    }

    async fn retrieve(
        &self,
        scope: &VectorScope<'_>,
        keys: Vec<PointKey>,
        vectors: bool,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        within!(self.tenant(scope), reads::options(), |session| reads::retrieve(&mut session, &keys, vectors))
    }

    async fn count(&self, scope: &VectorScope<'_>, request: CountRequest) -> Result<u64, BackendError> {
        within!(self.tenant(scope), reads::options(), |session| reads::count(&mut session, &request))
    }

    async fn vacate(&self, _scope: &WriteScope<'_>) -> Result<(), BackendError> {
        Ok(())
    }

    async fn drop_partition(&self, scope: &DropScope<'_>) -> Result<(), BackendError> {
        erase::drop_life(self.eraser()?, &self.tables.pair, life_of_a_tenant(scope)?).await
    }

    /// What is gone is gone for every reader at once. Its bytes stay in the files of the server until those are written
    /// anew, so the best it says is [`LogicalOnly`](StoreVerdict::LogicalOnly).
    async fn verify_dropped(&self, scope: &DropScope<'_>) -> Result<StoreVerdict, BackendError> {
        erase::verify(self.eraser()?, &self.tables.pair, life_of_a_tenant(scope)?).await
    }
}

fn life_of_a_tenant(scope: &VectorScope<'_>) -> Result<Life, BackendError> {
    match scope.asked_by() {
        AskedBy::Tenant(_) | AskedBy::Erasure => Ok(scope.life()),
        AskedBy::Reader(_) | AskedBy::Publisher => Err(BackendError::because(TENANTS_ALONE)),
    }
}

impl fmt::Debug for PgVectorBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PgVectorBackend({})", self.tables.pair.points)
    }
}

const SERVES_ALONE: &str = "no login was given to drop lives with (PgVectorBackend::erasing_as)";
const TENANTS_ALONE: &str = "these tables keep points of tenants alone: shared corpora have a back end of their own";
