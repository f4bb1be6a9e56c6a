//! A database with tables of tenants and of shared corpora in it.

use std::time::Duration;

use tenancy_core::Realm;
use tenancy_pg::Declaration;
use tenancy_pg::sqlx::postgres::{PgConnectOptions, PgConnection};
use tenancy_pg::sqlx::{self, AssertSqlSafe, Connection};
use tenancy_testkit::{APP, TestTenants};
use tenancy_vector::pgvector::{PgCorpusBackend, PgCorpusTables};
use tenancy_vector::{Schema, SharedVectors};
use uuid::Uuid;

use crate::cases;
use crate::corpora_cases::{name, publish};
use crate::world::World;

pub(crate) struct Library {
    pub(crate) world: World,
    pub(crate) tables: PgCorpusTables,
    /// Of this database alone: roles are the server's.
    pub(crate) publisher: String,
}

impl Library {
    pub(crate) async fn new(schema: Schema) -> Self {
        let mut world = World::bare(schema).await;
        let tables = world.tables.tenant_tables();
        let declared = tables.into_iter().fold(Declaration::builder(), |all, table| all.tenant_table(table));
        world.declaration = declared.global_table("public", "statute").global_table("public", "plan").build().unwrap();
        world.server.run_as_owner("create table plan (name text)").await;
        world.migrate().await;
        Self::within(world).await
    }

    /// In a world whose declaration has the table.
    pub(crate) async fn within(world: World) -> Self {
        let publisher = format!("publisher_of_{}", world.server.name());
        world.server.run(&format!("create role \"{publisher}\" login")).await;
        let tables = PgCorpusTables::new("public", "statute", &world.schema).unwrap();
        let library = Self { world, tables, publisher };
        library.migrate().await;
        library
    }

    pub(crate) async fn migrate(&self) {
        let sql = self.tables.migration_sql(&self.world.declaration, APP, &self.publisher).unwrap();
        self.world.server.run_as_owner(&sql).await;
    }

    pub(crate) fn login(&self) -> PgConnectOptions {
        self.world.server.options(&self.publisher)
    }

    pub(crate) async fn reading(&self, realm: &Realm) -> PgCorpusBackend {
        PgCorpusBackend::new(self.world.database(realm).await, self.tables.clone()).unwrap()
    }

    pub(crate) async fn backend(&self, realm: &Realm) -> PgCorpusBackend {
        self.reading(realm).await.publishing_as(self.login())
    }

    pub(crate) async fn shared(&self, tenants: &TestTenants, text: &str) -> SharedVectors {
        let backend = self.backend(tenants.realm()).await;
        SharedVectors::new(tenants.realm(), &name(text), backend, self.world.schema.clone())
    }

    /// Two statutes and one by-law, and a point of acme's.
    pub(crate) async fn filled(tenants: &TestTenants) -> (Self, SharedVectors, SharedVectors) {
        let library = Self::new(cases::schema()).await;
        let (statutes, bylaws) = (library.shared(tenants, "statutes").await, library.shared(tenants, "bylaws").await);
        let of = |id: &str| cases::point(id, 0.5, "everybody");
        publish(tenants, &statutes, vec![of("S1"), of("S2")]).await;
        publish(tenants, &bylaws, vec![of("B1")]).await;
        let own = library.world.store(tenants).await;
        cases::of(tenants, &own, "acme").await.upsert(vec![cases::point("S1", 0.9, "acme")]).await.unwrap();
        (library, statutes, bylaws)
    }

    /// Whether a session of the role that publishes comes to wait for another.
    pub(crate) async fn waits(&self) -> bool {
        let waits = format!(
            "select count(*) from pg_stat_activity where usename = '{}' and wait_event_type = 'Lock'",
            self.publisher
        );
        for _ in 0..250 {
            if self.world.number(&waits).await > 0 {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        false
    }

    /// A session of the role that publishes, by hand.
    pub(crate) async fn publishing(&self, corpus: Option<Uuid>) -> PgConnection {
        let mut connection = PgConnection::connect_with(&self.login()).await.unwrap();
        let set = corpus.map_or_else(String::new, |corpus| format!("set tenancy.publishing = '{corpus}'"));
        run(&mut connection, &set).await.unwrap();
        connection
    }
}

pub(crate) fn mark(shared: &SharedVectors) -> Uuid {
    shared.corpus().life().uuid()
}

pub(crate) async fn run(connection: &mut PgConnection, sql: &str) -> Result<u64, sqlx::Error> {
    Ok(sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await?.rows_affected())
}

pub(crate) async fn count(connection: &mut PgConnection, sql: &str) -> i64 {
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(connection).await.unwrap()
}

/// The code of a refusal by the server.
pub(crate) fn code(refused: Result<u64, sqlx::Error>) -> String {
    let Err(refused) = refused else { return "no refusal".to_owned() };
    refused.as_database_error().and_then(|error| error.code().map(|code| code.into_owned())).unwrap_or_default()
}

/// A row of a corpus, as SQL.
pub(crate) fn row(corpus: Uuid, life: Uuid) -> String {
    format!(
        "insert into statute (corpus, life, id, digest, name, payload) values ('{corpus}', '{life}', gen_random_uuid(), '', '', '{{}}')"
    )
}
