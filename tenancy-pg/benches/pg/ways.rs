//! The ways to run one statement for a tenant.

use sqlx::postgres::PgArguments;
use sqlx::postgres::{PgPool, PgPoolOptions, PgRow};
use sqlx::query::Query;
use sqlx::{Executor, Postgres};
use tenancy_core::TenantContext;
use tenancy_pg::{Database, Inspected, Mode};
use tenancy_testkit::TestDatabase;
use uuid::Uuid;

use crate::world::{CONNECTIONS, World};
use crate::{Work, first_note};

pub(crate) struct Ways {
    keys: Vec<Uuid>,
    contexts: Vec<TenantContext>,
    /// A role that no policy binds, as where there are none: the statement's own condition is all there is.
    plain: PgPool,
    plain_without_ping: PgPool,
    /// The service's role, with the policies.
    bound: PgPool,
    local: Database<Inspected>,
    sticky: Database<Inspected>,
    signed: Database<Inspected>,
    signed_sticky: Database<Inspected>,
}

impl Ways {
    pub(crate) async fn open(world: &World, plain: &TestDatabase, signed: &TestDatabase) -> Self {
        let pool = || PgPoolOptions::new().max_connections(CONNECTIONS);
        let sticky = |options: tenancy_pg::PgOptions| options.mode(Mode::Sticky);
        Self {
            keys: world.keys.clone(),
            contexts: world.contexts.clone(),
            plain: pool().connect_with(plain.superuser_options()).await.unwrap(),
            plain_without_ping: pool()
                .test_before_acquire(false)
                .connect_with(plain.superuser_options())
                .await
                .unwrap(),
            bound: pool().connect_with(plain.app_options()).await.unwrap(),
            local: world.open(plain, |options| options).await,
            sticky: world.open(plain, sticky).await,
            signed: world.open(signed, |options| options).await,
            signed_sticky: world.open(signed, sticky).await,
        }
    }

    /// One call of one tenant; it must find what there is.
    pub(crate) async fn call(&self, way: &str, work: Work, tenant: usize) {
        let query = sqlx::query(work.sql()).bind(self.keys[tenant]).bind(first_note(tenant));
        let rows = match way {
            "plain" => query.fetch_all(&self.plain).await.unwrap(),
            "plain_without_ping" => query.fetch_all(&self.plain_without_ping).await.unwrap(),
            "five_step" => self.five_step(query, tenant).await,
            "local_db" => query.fetch_all(&self.local.scoped(&self.contexts[tenant]).unwrap()).await.unwrap(),
            "sticky" => query.fetch_all(&self.sticky.scoped(&self.contexts[tenant]).unwrap()).await.unwrap(),
            "signed_sticky" => {
                query.fetch_all(&self.signed_sticky.scoped(&self.contexts[tenant]).unwrap()).await.unwrap()
            }
            "local" => self.transaction(&self.local, work, query, tenant).await,
            "signed" => self.transaction(&self.signed, work, query, tenant).await,
            other => panic!("no such way: {other}"),
        };
        assert_eq!(rows.len(), work.rows(), "{way}");
    }

    /// The usual way: a ping, `begin`, the setting, the statement, `commit`.
    async fn five_step(&self, query: Query<'_, Postgres, PgArguments>, tenant: usize) -> Vec<PgRow> {
        let mut tx = self.bound.begin().await.unwrap();
        let setting = sqlx::query("select set_config('tenancy.row_key', $1, true)");
        tx.execute(setting.bind(self.keys[tenant].to_string())).await.unwrap();
        let rows = query.fetch_all(&mut *tx).await.unwrap();
        tx.commit().await.unwrap();
        rows
    }

    /// `read()` for what reads, `begin()` and `commit()` for what writes.
    async fn transaction(
        &self,
        database: &Database<Inspected>,
        work: Work,
        query: Query<'_, Postgres, PgArguments>,
        tenant: usize,
    ) -> Vec<PgRow> {
        let db = database.scoped(&self.contexts[tenant]).unwrap();
        if work == Work::Insert {
            let mut tx = db.begin().await.unwrap();
            let rows = query.fetch_all(&mut tx).await.unwrap();
            tx.commit().await.unwrap();
            return rows;
        }
        let mut tx = db.read().await.unwrap();
        query.fetch_all(&mut tx).await.unwrap()
    }
}
