//! A server with ten thousand tenants in it.

use secrecy::ExposeSecret;
use sqlx::{Connection, PgConnection};
use tenancy_core::TenantContext;
use tenancy_pg::{
    Database, Declaration, Inspected, PgOptions, RowKeyType, SigningKey, SigningKeys, TenantTable, grant_sql,
    hardening_sql, policy_sql, signed_schema_sql, signing_key_sql,
};
use tenancy_testkit::{APP, OWNER, ServerOptions, TestDatabase, TestTenants, ThrowawayPostgres};
use uuid::Uuid;

pub(crate) struct World {
    _server: ThrowawayPostgres,
    tenants: TestTenants,
    pub(crate) plain: TestDatabase,
    pub(crate) signed: TestDatabase,
    key: SigningKey,
    pub(crate) keys: Vec<Uuid>,
    pub(crate) contexts: Vec<TenantContext>,
}

impl World {
    /// Time stands still for the tenants: a context that expires in the middle would end the measurement.
    pub(crate) async fn new() -> Self {
        let names: Vec<String> = (0..TENANTS).map(|number| format!("tenant-{number}")).collect();
        let builder = names.iter().fold(TestTenants::builder().clock(), |builder, name| builder.tenant(name));
        let tenants = builder.build().await;
        let keys: Vec<Uuid> = names.iter().map(|name| tenants.life(name).uuid()).collect();
        let mut contexts = Vec::new();
        for name in &names {
            contexts.push(tenants.context(name).await);
        }
        let server = ThrowawayPostgres::start_with(&roomy()).await.unwrap();
        let key = SigningKey::generate();
        let plain = database(&server, &keys, None).await;
        let signed = database(&server, &keys, Some(&key)).await;
        Self { _server: server, tenants, plain, signed, key, keys, contexts }
    }

    /// Ours, by way of this database.
    pub(crate) async fn open(
        &self,
        database: &TestDatabase,
        change: impl Fn(PgOptions) -> PgOptions,
    ) -> Database<Inspected> {
        let signed = database.name() == self.signed.name();
        let options = PgOptions::new(database.app_options()).max_connections(CONNECTIONS);
        let options = if signed { options.signed(SigningKeys::new(self.key.clone())) } else { options };
        Database::open(self.tenants.realm(), change(options), &declaration(signed)).await.unwrap()
    }
}

/// Room for every way's own pool at once, and for all rows in memory.
fn roomy() -> ServerOptions {
    ServerOptions::new().loopback().setting("max_connections", "400").setting("shared_buffers", "256MB")
}

async fn database(server: &ThrowawayPostgres, keys: &[Uuid], signed: Option<&SigningKey>) -> TestDatabase {
    let database = server.fresh_database().await;
    let declaration = declaration(signed.is_some());
    database.run_as_owner(TABLES).await;
    let mut owner = PgConnection::connect_with(&database.owner_options()).await.unwrap();
    for statement in ROWS {
        sqlx::query(*statement).bind(keys).execute(&mut owner).await.unwrap();
    }
    owner.close().await.unwrap();
    if let Some(key) = signed {
        database.run(&signed_schema_sql(&declaration, OWNER, &[APP])).await;
        database.run(&hardening_sql()).await;
        database.run(signing_key_sql(key).expose_secret()).await;
        let mut superuser = PgConnection::connect_with(&database.superuser_options()).await.unwrap();
        sqlx::query("insert into tenancy.tenant select k, k from unnest($1::uuid[]) k")
            .bind(keys)
            .execute(&mut superuser)
            .await
            .unwrap();
        superuser.close().await.unwrap();
    }
    database.run_as_owner(&format!("{}{}", policy_sql(&declaration), grant_sql(&declaration, APP))).await;
    database.run("vacuum analyze").await;
    database.through_port(database.port())
}

fn declaration(signed: bool) -> Declaration {
    let table = |name: &str| TenantTable::new("public", name, "tenant_id", RowKeyType::Uuid).unwrap();
    let names = ["note", "event", "author", "project", "team", "label"];
    let builder = names.iter().fold(Declaration::builder(), |builder, name| builder.tenant_table(table(name)));
    if signed { builder.signed().build().unwrap() } else { builder.build().unwrap() }
}

/// A tenant's notes are numbered from its own number times a thousand. The first ten have two hundred each, the others
/// twenty.
const ROWS: &[&str] = &[
    "insert into note select k, (n - 1) * 1000 + i, i % 5 + 1, i % 3 + 1, i % 4 + 1, 'note ' || i
     from unnest($1::uuid[]) with ordinality t(k, n), generate_series(1, case when n <= 10 then 200 else 20 end) i",
    "insert into author select k, i, 'author' from unnest($1::uuid[]) k, generate_series(1, 5) i",
    "insert into project select k, i, i, 'project' from unnest($1::uuid[]) k, generate_series(1, 3) i",
    "insert into team select k, i, 'team' from unnest($1::uuid[]) k, generate_series(1, 3) i",
    "insert into label select k, i, 'label' from unnest($1::uuid[]) k, generate_series(1, 4) i",
];
const TABLES: &str = "
    create table note (tenant_id uuid not null, id bigint, author int not null, project int not null, label int not null,
                       body text not null, primary key (tenant_id, id));
    create table event (tenant_id uuid not null, id uuid default gen_random_uuid(), note bigint, body text not null,
                        primary key (tenant_id, id));
    create table author (tenant_id uuid not null, id int, name text not null, primary key (tenant_id, id));
    create table project (tenant_id uuid not null, id int, team int not null, name text not null,
                          primary key (tenant_id, id));
    create table team (tenant_id uuid not null, id int, name text not null, primary key (tenant_id, id));
    create table label (tenant_id uuid not null, id int, name text not null, primary key (tenant_id, id));";
const TENANTS: usize = 10_000;
pub(crate) const CONNECTIONS: u32 = 16;
