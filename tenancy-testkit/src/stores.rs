//! Every store of a [`TestTenants`]: real engines in a folder that goes with the test.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;

use tempfile::TempDir;
use tenancy_cache::{Caches, MemoryBackend};
use tenancy_core::TenantContext;
use tenancy_pg::{Database, Declaration, PgOptions, grant_sql, policy_sql};
use tenancy_stack::{Stores, TenantStores};
use tenancy_tools::{Closed, FilesRoot, ToolRegistry, Tools};
use tenancy_vector::{Schema, VectorStore};
use tenancy_vector_edge::{EdgeBackend, EdgeOptions};

use crate::{APP, TestTenants, ThrowawayPostgres};

/// The stores of a test, to be awaited as they are or after changing something.
#[must_use = "await it"]
pub struct TestStoresBuilder<'t> {
    tenants: &'t TestTenants,
    dimension: usize,
    tables: Option<(Declaration, &'static str)>,
    registry: ToolRegistry<Closed>,
}

/// The stores of a test. Its folder is removed when it is dropped.
pub struct TestStores {
    stores: Stores,
    _folder: TempDir,
}

impl TestTenants {
    /// Vectors of dimension 4, caches and files; with [`TestStoresBuilder::tables`] a database too.
    ///
    /// ```
    /// # async fn run() {
    /// # use tenancy_testkit::TestTenants;
    /// let tenants = TestTenants::new().await;
    /// let stores = tenants.stores().await;
    /// let mine = stores.scoped(&tenants.context("acme").await);
    /// assert_eq!(mine.vectors().unwrap().count(None).await.unwrap(), 0);
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(run());
    /// ```
    pub fn stores(&self) -> TestStoresBuilder<'_> {
        TestStoresBuilder { tenants: self, dimension: 4, tables: None, registry: ToolRegistry::new().close() }
    }
}

impl TestStoresBuilder<'_> {
    /// Sets the dimension of the dense vectors.
    pub const fn dimension(mut self, dimension: usize) -> Self {
        self.dimension = dimension;
        self
    }

    /// Adds a database in a throwaway Postgres: these statements make the tables, the generated policies protect them,
    /// and the inspection must find nothing.
    pub fn tables(mut self, declaration: Declaration, create: &'static str) -> Self {
        self.tables = Some((declaration, create));
        self
    }

    /// Sets the tools.
    pub fn tools(mut self, registry: ToolRegistry<Closed>) -> Self {
        self.registry = registry;
        self
    }

    async fn build(self) -> TestStores {
        let Self { tenants, dimension, tables, registry } = self;
        let realm = tenants.realm();
        let folder = tempfile::tempdir().expect("a folder");
        let edge = EdgeBackend::open(EdgeOptions::new(folder.path().join("vectors"))).expect("an engine");
        let files = FilesRoot::provision(folder.path().join("files")).expect("a folder for files");
        let mut stores = Stores::builder(realm)
            .vectors(VectorStore::new(realm, edge, Schema::hybrid(dimension).expect("a usable dimension")))
            .caches(Caches::new(realm, MemoryBackend::new()))
            .tools(Tools::new(realm, registry, files));
        if let Some((declaration, create)) = tables {
            let database = ThrowawayPostgres::shared().await.fresh_database().await;
            database.run_as_owner(create).await;
            database.run_as_owner(&policy_sql(&declaration)).await;
            database.run_as_owner(&grant_sql(&declaration, APP)).await;
            let options = PgOptions::new(database.app_options());
            stores = stores.database(Database::open(realm, options, &declaration).await.expect("sound tables"));
        }
        TestStores { stores: stores.build().expect("stores"), _folder: folder }
    }
}

impl<'t> IntoFuture for TestStoresBuilder<'t> {
    type Output = TestStores;
    type IntoFuture = Pin<Box<dyn Future<Output = TestStores> + Send + 't>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.build())
    }
}

impl TestStores {
    /// The stores, for a router's state.
    #[must_use]
    pub const fn stores(&self) -> &Stores {
        &self.stores
    }

    /// The stores of the context's tenant.
    ///
    /// # Panics
    /// When the context is refused.
    #[must_use]
    pub fn scoped(&self, context: &TenantContext) -> TenantStores {
        self.stores.scoped(context).expect("a context of the same realm")
    }
}

impl fmt::Debug for TestStoresBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TestStoresBuilder")
    }
}

impl fmt::Debug for TestStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TestStores")
    }
}
