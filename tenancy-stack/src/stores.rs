//! The stores of a service, and those of one tenant.

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "semantic")]
use tenancy_cache::semantic::{SEMANTIC_STORE, SemanticCache, TenantSemantic};
#[cfg(feature = "cache")]
use tenancy_cache::{Caches, TenantCaches};
use tenancy_core::{Cells, Gate, Pass, Realm, StoreName, TenantContext};
#[cfg(feature = "pg")]
use tenancy_pg::{Database, Inspected, TenantDb};
#[cfg(feature = "tools")]
use tenancy_tools::{TenantTools, Tools};
#[cfg(feature = "vector")]
use tenancy_vector::{TenantVectors, VectorStore};

use crate::Error;

/// The stores of a service. Has no data method: [`scoped`](Self::scoped) gives the handle that has.
///
/// Cheap to clone; put it into the router's state.
#[derive(Clone)]
pub struct Stores {
    shared: Arc<Shared>,
}

struct Shared {
    gate: Gate,
    #[cfg(feature = "pg")]
    database: Option<Cells<Database<Inspected>>>,
    #[cfg(feature = "vector")]
    vectors: Option<Cells<VectorStore>>,
    #[cfg(feature = "cache")]
    caches: Option<Cells<Caches>>,
    #[cfg(feature = "semantic")]
    semantic: Option<Cells<SemanticCache>>,
    #[cfg(feature = "tools")]
    tools: Option<Cells<Tools>>,
}

/// Gathers the stores of a service, each once or in several cells.
#[must_use]
pub struct StoresBuilder {
    shared: Shared,
}

/// The stores of one tenant, for one request or job: owned, cheap to clone, `'static`.
///
/// Each accessor picks the cell of the tenant's placement and scopes it. A store that the service was built without is
/// [`Error::NotConfigured`].
///
/// With the feature `axum` it is an extractor; a handler whole:
///
/// ```
/// # #[cfg(all(feature = "axum", feature = "pg"))] mod handler {
/// use axum::{Router, extract::Path, routing::get};
/// use tenancy_stack::{Error, Stores, TenantStores, pg::OrNotVisible};
///
/// async fn title(mine: TenantStores, Path(id): Path<String>) -> Result<String, Error> {
///     let db = mine.database()?;
///     let query = sqlx::query_scalar("select title from documents where id = $1").bind(id);
///     let title: Option<String> = query.fetch_optional(&db).await?;
///     Ok(title.or_not_visible(&db)?)
/// }
///
/// fn routes(stores: Stores) -> Router {
///     Router::new().route("/titles/{id}", get(title)).with_state(stores)
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct TenantStores {
    stores: Stores,
    pass: Pass,
}

impl Stores {
    /// Starts gathering the stores of a realm.
    pub fn builder(realm: &Realm) -> StoresBuilder {
        // Every store is in the region that its own gate says; this one only compares realms.
        let gate = Gate::new(realm, StoreName::new("stores"));
        let shared = Shared {
            gate,
            #[cfg(feature = "pg")]
            database: None,
            #[cfg(feature = "vector")]
            vectors: None,
            #[cfg(feature = "cache")]
            caches: None,
            #[cfg(feature = "semantic")]
            semantic: None,
            #[cfg(feature = "tools")]
            tools: None,
        };
        StoresBuilder { shared }
    }

    /// The stores of the context's tenant.
    ///
    /// # Errors
    /// [`Denial::ForeignRealm`](crate::Denial::ForeignRealm) for a context of another realm, or as
    /// [`TenantContext::ensure`]; recorded.
    pub fn scoped(&self, context: &TenantContext) -> Result<TenantStores, Error> {
        let pass = self.shared.gate.everywhere(context)?;
        Ok(TenantStores { stores: self.clone(), pass })
    }
}

impl StoresBuilder {
    /// Sets the database, or its cells.
    #[cfg(feature = "pg")]
    pub fn database(mut self, database: impl Into<Cells<Database<Inspected>>>) -> Self {
        self.shared.database = Some(database.into());
        self
    }

    /// Sets the vector store, or its cells.
    #[cfg(feature = "vector")]
    pub fn vectors(mut self, vectors: impl Into<Cells<VectorStore>>) -> Self {
        self.shared.vectors = Some(vectors.into());
        self
    }

    /// Sets the caches, or their cells.
    #[cfg(feature = "cache")]
    pub fn caches(mut self, caches: impl Into<Cells<Caches>>) -> Self {
        self.shared.caches = Some(caches.into());
        self
    }

    /// Sets the semantic cache, or its cells.
    #[cfg(feature = "semantic")]
    pub fn semantic(mut self, semantic: impl Into<Cells<SemanticCache>>) -> Self {
        self.shared.semantic = Some(semantic.into());
        self
    }

    /// Sets the tools, or their cells.
    #[cfg(feature = "tools")]
    pub fn tools(mut self, tools: impl Into<Cells<Tools>>) -> Self {
        self.shared.tools = Some(tools.into());
        self
    }

    /// Takes what was gathered.
    ///
    /// # Errors
    /// None today; a later check of the stores against each other belongs here.
    pub fn build(self) -> Result<Stores, Error> {
        Ok(Stores { shared: Arc::new(self.shared) })
    }
}

impl TenantStores {
    /// The context.
    #[must_use]
    pub const fn context(&self) -> &TenantContext {
        self.pass.context()
    }

    /// The tenant's rows.
    ///
    /// # Errors
    /// [`Error::NotConfigured`]; [`Error::Denied`] when no cell is in the tenant's region or the context has ended.
    #[cfg(feature = "pg")]
    pub fn database(&self) -> Result<TenantDb, Error> {
        let cells = self.stores.shared.database.as_ref().ok_or(Error::NotConfigured("database"))?;
        Ok(cells.pick(tenancy_pg::STORE, self.context())?.scoped(self.context())?)
    }

    /// The tenant's vectors.
    ///
    /// # Errors
    /// As [`database`](Self::database).
    #[cfg(feature = "vector")]
    pub fn vectors(&self) -> Result<TenantVectors, Error> {
        let cells = self.stores.shared.vectors.as_ref().ok_or(Error::NotConfigured("vectors"))?;
        Ok(cells.pick(tenancy_vector::STORE, self.context())?.scoped(self.context())?)
    }

    /// The tenant's caches.
    ///
    /// # Errors
    /// As [`database`](Self::database).
    #[cfg(feature = "cache")]
    pub fn caches(&self) -> Result<TenantCaches, Error> {
        let cells = self.stores.shared.caches.as_ref().ok_or(Error::NotConfigured("caches"))?;
        Ok(cells.pick(tenancy_cache::STORE, self.context())?.scoped(self.context())?)
    }

    /// The tenant's answers to questions that are alike.
    ///
    /// # Errors
    /// As [`database`](Self::database).
    #[cfg(feature = "semantic")]
    pub fn semantic<V>(&self) -> Result<TenantSemantic<V>, Error> {
        let cells = self.stores.shared.semantic.as_ref().ok_or(Error::NotConfigured("semantic cache"))?;
        Ok(cells.pick(SEMANTIC_STORE, self.context())?.scoped(self.context())?)
    }

    /// The tenant's tools.
    ///
    /// # Errors
    /// As [`database`](Self::database).
    #[cfg(feature = "tools")]
    pub fn tools(&self) -> Result<TenantTools, Error> {
        let cells = self.stores.shared.tools.as_ref().ok_or(Error::NotConfigured("tools"))?;
        Ok(cells.pick(tenancy_tools::STORE, self.context())?.scoped(self.context())?)
    }
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stores")
    }
}

impl fmt::Debug for StoresBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoresBuilder")
    }
}

impl fmt::Debug for TenantStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantStores({:?})", self.context())
    }
}
