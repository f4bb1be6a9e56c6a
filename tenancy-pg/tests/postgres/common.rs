//! A database with two tenants' rows in it.

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection};
use tenancy_core::Life;
use tenancy_pg::{
    Database, Declaration, Inspected, PgOptions, RowKeyType, TenantDb, TenantTable, grant_sql, policy_sql,
};
use tenancy_testkit::{APP, TestDatabase, TestTenants, ThrowawayPostgres};

/// `note(id, tenant_id, body, slug)`: two rows of acme, three of globex. `country(code)` is global. The functions
/// `pretend(key)` and `smuggle(sql)` do what the guard can't see.
pub(crate) struct World {
    pub(crate) tenants: TestTenants,
    pub(crate) server: TestDatabase,
    pub(crate) declaration: Declaration,
}

impl World {
    /// Policies as this crate generates them.
    pub(crate) async fn new() -> Self {
        Self::on(ThrowawayPostgres::shared().await).await
    }

    /// As [`new`](Self::new), on a server of the test's own.
    pub(crate) async fn on(server: &ThrowawayPostgres) -> Self {
        Self::of(TestTenants::new().await, server).await
    }

    /// As [`on`](Self::on), with a realm of the test's own.
    pub(crate) async fn of(tenants: TestTenants, server: &ThrowawayPostgres) -> Self {
        let world = Self::bare_of(tenants, server).await;
        world.server.run_as_owner(&policy_sql(&world.declaration)).await;
        world
    }

    /// Tables and grants without any policy.
    pub(crate) async fn bare() -> Self {
        Self::bare_of(TestTenants::new().await, ThrowawayPostgres::shared().await).await
    }

    async fn bare_of(tenants: TestTenants, server: &ThrowawayPostgres) -> Self {
        let server = server.fresh_database().await;
        let declaration = declaration();
        server
            .run_as_owner(
                "create table note (id int primary key, tenant_id uuid not null, body text not null, slug text,
                                    unique (tenant_id, slug));
                 create index on note (tenant_id);
                 create table country (code text primary key);
                 insert into country values ('at'), ('ch');
                 create function smuggle(sql text) returns void language plpgsql as $$ begin execute sql; end $$;
                 create function pretend(key text) returns text language sql
                     as $$ select set_config('tenancy.row_key', key, true) $$;",
            )
            .await;
        server.run_as_owner(&grant_sql(&declaration, APP)).await;
        let (acme, globex) = (tenants.life("acme").uuid(), tenants.life("globex").uuid());
        server
            .run_as_owner(&format!(
                "insert into note (id, tenant_id, body, slug) values
                 (1, '{acme}', 'acme one', 'a'), (2, '{acme}', 'acme two', 'b'),
                 (3, '{globex}', 'globex one', 'a'), (4, '{globex}', 'globex two', 'b'),
                 (5, '{globex}', 'globex three', 'c')"
            ))
            .await;
        Self { tenants, server, declaration }
    }

    /// A pool of one, so that the next borrower gets what the last one left.
    pub(crate) fn options(&self) -> PgOptions {
        PgOptions::new(self.server.app_options()).max_connections(1)
    }

    pub(crate) async fn open(&self) -> Database<Inspected> {
        Database::open(self.tenants.realm(), self.options(), &self.declaration).await.unwrap()
    }

    pub(crate) async fn scoped(&self, database: &Database<Inspected>, tenant: &str) -> TenantDb {
        database.scoped(&self.tenants.context(tenant).await).unwrap()
    }

    pub(crate) fn life(&self, tenant: &str) -> Life {
        self.tenants.life(tenant)
    }

    /// The number of rows that exist, whoever's they are.
    pub(crate) async fn rows_in_truth(&self, condition: &str) -> i64 {
        let sql = format!("select count(*) from note where {condition}");
        scalar(&self.server.superuser_options(), &sql).await
    }
}

pub(crate) fn declaration() -> Declaration {
    Declaration::builder()
        .tenant_table(TenantTable::new("public", "note", "tenant_id", RowKeyType::Uuid).unwrap())
        .global_table("public", "country")
        .build()
        .unwrap()
}

/// A statement where the guard can't see it.
pub(crate) fn smuggled(sql: &str) -> String {
    format!("select smuggle($inside${sql}$inside$)")
}

/// Everything a tenant sees, as its bodies.
pub(crate) async fn bodies(db: &TenantDb) -> Vec<String> {
    sqlx::query_scalar("select body from note order by id").fetch_all(db).await.unwrap()
}

pub(crate) const ACME: [&str; 2] = ["acme one", "acme two"];
pub(crate) const GLOBEX: [&str; 3] = ["globex one", "globex two", "globex three"];

pub(crate) async fn scalar(options: &PgConnectOptions, sql: &str) -> i64 {
    let mut connection = PgConnection::connect_with(options).await.unwrap();
    let value = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    value
}

/// Everything an error shows in its texts and in those of its sources.
pub(crate) fn shown(error: &(dyn std::error::Error + 'static)) -> String {
    let mut all = format!("{error:?} {error:#?}");
    let mut next = Some(error);
    while let Some(e) = next {
        all += &format!(" {e} {e:?}");
        next = e.source();
    }
    all
}

/// A login role that is no more than that, made once per server; whoever connects as it here.
pub(crate) async fn plain_role(server: &TestDatabase, name: &str) -> PgConnectOptions {
    let made = format!(
        "do $$ begin create role {name} login; exception when duplicate_object or unique_violation then null; end $$"
    );
    server.run(&made).await;
    server.superuser_options().username(name)
}
