//! The back end itself.

use std::fmt;

use async_trait::async_trait;
use tenancy_core::StoreVerdict;
use tenancy_pg::sqlx::postgres::PgConnectOptions;
use tenancy_pg::{Database, Inspected, TxOptions};

use super::erase::LifeEraser;
use super::error::PgVectorError;
use super::session::Tenant;
use super::tables::PgVectorTables;
use super::{drift, gather, reads, write};
use crate::backend::{ScoredPayload, StoredPayload, VectorBackend};
use crate::error::BackendError;
use crate::filter::FilterValue;
use crate::id::PointKey;
use crate::request::{CountRequest, FacetRequest, QueryRequest, ScrollRequest, WriteRequest};
use crate::schema::Schema;
use crate::scope::VectorScope;

/// Points in two tables of an inspected database, each call in its tenant's own transaction.
///
/// A call that is dropped ends its transaction: nothing of it is kept, and its connection reaches the next tenant only once
/// it was shown to be clean. Dropped while it commits, a write may or may not be kept; the handle's writes run in tasks of
/// their own and are not dropped.
pub struct PgVectorBackend {
    database: Database<Inspected>,
    tables: PgVectorTables,
    eraser: LifeEraser,
}

impl PgVectorBackend {
    /// On a database of the store's realm that was inspected by these tables. The login is that of the role that
    /// [`PgVectorTables::migration_sql`] lets drop lives; it is used for nothing else, and not before a life is dropped.
    ///
    /// # Errors
    /// [`PgVectorError::NotDeclared`].
    pub fn new(
        database: Database<Inspected>,
        tables: PgVectorTables,
        eraser: PgConnectOptions,
    ) -> Result<Self, PgVectorError> {
        let declared = database.declaration().tenant_tables().iter().filter(|table| tables.is_ours(table)).count();
        if declared < tables.tenant_tables().len() {
            return Err(PgVectorError::NotDeclared);
        }
        Ok(Self { database, tables, eraser: LifeEraser::new(eraser) })
    }

    fn tenant(&self, scope: &VectorScope<'_>) -> Result<Tenant<'_>, BackendError> {
        Tenant::new(&self.database, &self.tables, scope)
    }
}

/// Runs a call in a transaction of the tenant.
macro_rules! within {
    ($this:ident, $scope:ident, $options:expr, |$session:ident| $act:expr) => {{
        let tenant = $this.tenant($scope)?;
        let mut $session = tenant.begin($options).await?;
        let done = $act.await;
        $session.end(done).await
    }};
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl VectorBackend for PgVectorBackend {
    /// Makes nothing, since the service's role is not the owner: looks whether what the owner's migration made is there,
    /// protected, and for this schema.
    async fn prepare(&self, schema: &Schema) -> Result<(), BackendError> {
        if schema != self.tables.schema() {
            return Err(BackendError::SchemaMismatch);
        }
        drift::look(&self.database, &self.tables).await
    }

    async fn write(&self, scope: &VectorScope<'_>, request: WriteRequest) -> Result<(), BackendError> {
        within!(self, scope, TxOptions::new(), |session| write::all(&mut session, request))
    }

    async fn query(
        &self,
        scope: &VectorScope<'_>,
        requests: &[QueryRequest],
    ) -> Result<Vec<Vec<ScoredPayload>>, BackendError> {
        within!(self, scope, gather::options(requests), |session| gather::answers(&mut session, requests))
    }

    async fn facet(
        &self,
        scope: &VectorScope<'_>,
        request: FacetRequest,
    ) -> Result<Vec<(FilterValue, u64)>, BackendError> {
        within!(self, scope, reads::options(), |session| reads::facet(&mut session, &request))
    }

    async fn scroll(
        &self,
        scope: &VectorScope<'_>,
        request: ScrollRequest,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        within!(self, scope, reads::options(), |session| reads::scroll(&mut session, &request))
    }

    async fn retrieve(
        &self,
        scope: &VectorScope<'_>,
        keys: Vec<PointKey>,
        vectors: bool,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        within!(self, scope, reads::options(), |session| reads::retrieve(&mut session, &keys, vectors))
    }

    async fn count(&self, scope: &VectorScope<'_>, request: CountRequest) -> Result<u64, BackendError> {
        within!(self, scope, reads::options(), |session| reads::count(&mut session, &request))
    }

    async fn vacate(&self, _scope: &VectorScope<'_>) -> Result<(), BackendError> {
        Ok(())
    }

    async fn drop_partition(&self, scope: &VectorScope<'_>) -> Result<(), BackendError> {
        self.eraser.drop_life(&self.tables, scope.life()).await
    }

    /// What is gone is gone for every reader at once. Its bytes stay in the files of the server until those are written
    /// anew, so the best it says is [`LogicalOnly`](StoreVerdict::LogicalOnly).
    async fn verify_dropped(&self, scope: &VectorScope<'_>) -> Result<StoreVerdict, BackendError> {
        self.eraser.verify(&self.tables, scope.life()).await
    }
}

impl fmt::Debug for PgVectorBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PgVectorBackend({})", self.tables.points)
    }
}
