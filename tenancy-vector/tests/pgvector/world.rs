//! A database with the tables in it.

use tenancy_core::Realm;
use tenancy_pg::sqlx::postgres::{PgConnectOptions, PgConnection};
use tenancy_pg::sqlx::{self, AssertSqlSafe, Connection};
use tenancy_pg::{Database, Declaration, Inspected, PgOptions};
use tenancy_testkit::{APP, TestDatabase, TestTenants, ThrowawayPostgres};
use tenancy_vector::pgvector::{PgVectorBackend, PgVectorTables};
use tenancy_vector::{Schema, VectorStore};
use uuid::Uuid;

pub(crate) const ERASER: &str = "vector_eraser";

/// The tables as the owner's migration makes them, in a database of their own.
pub(crate) struct World {
    pub(crate) server: TestDatabase,
    pub(crate) tables: PgVectorTables,
    pub(crate) declaration: Declaration,
    pub(crate) schema: Schema,
}

impl World {
    pub(crate) async fn new(schema: Schema) -> Self {
        let world = Self::bare(schema).await;
        world.migrate().await;
        world
    }

    /// Before the migration.
    pub(crate) async fn bare(schema: Schema) -> Self {
        let server = ThrowawayPostgres::shared_with_pgvector().await.fresh_database().await;
        server.run("create extension vector").await;
        let role = format!(
            "do $$ begin create role {ERASER} login; exception when duplicate_object or unique_violation then null; end $$"
        );
        server.run(&role).await;
        let tables = PgVectorTables::new("public", "chunk", &schema).unwrap();
        let [points, lives] = tables.tenant_tables();
        let declaration = Declaration::builder().tenant_table(points).tenant_table(lives).build().unwrap();
        Self { server, tables, declaration, schema }
    }

    pub(crate) async fn migrate(&self) {
        self.server.run_as_owner(&self.tables.migration_sql(&self.declaration, APP, ERASER).unwrap()).await;
    }

    pub(crate) async fn database(&self, realm: &Realm) -> Database<Inspected> {
        let options = PgOptions::new(self.server.app_options()).max_connections(4);
        Database::open(realm, options, &self.declaration).await.unwrap()
    }

    pub(crate) async fn backend(&self, realm: &Realm) -> PgVectorBackend {
        let database = self.database(realm).await;
        PgVectorBackend::new(database, self.tables.clone()).unwrap().erasing_as(self.eraser())
    }

    pub(crate) async fn store(&self, tenants: &TestTenants) -> VectorStore {
        VectorStore::new(tenants.realm(), self.backend(tenants.realm()).await, self.schema.clone())
    }

    pub(crate) fn eraser(&self) -> PgConnectOptions {
        self.server.options(ERASER)
    }

    /// A session of the service's role by hand, in the scope of a tenant, past every fence and guard.
    pub(crate) async fn app(&self, scope: Uuid) -> PgConnection {
        self.app_as(&scope.to_string()).await
    }

    pub(crate) async fn app_as(&self, scope: &str) -> PgConnection {
        let mut connection = PgConnection::connect_with(&self.server.app_options()).await.unwrap();
        let set = format!("set tenancy.row_key = '{scope}'");
        sqlx::raw_sql(AssertSqlSafe(set)).execute(&mut connection).await.unwrap();
        connection
    }

    /// A number in truth, as the superuser sees it.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        let mut connection = PgConnection::connect_with(&self.server.superuser_options()).await.unwrap();
        let number = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        number
    }
}
