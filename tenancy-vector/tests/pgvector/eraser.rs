//! The role that drops lives: what `prepare` says of one that is not as it should be, and a process that has none.

use std::time::Duration;

use tenancy_core::{Credential, Reach, StoreVerdict, TenantId};
use tenancy_pg::sqlx::postgres::PgConnectOptions;
use tenancy_pg::{Declaration, RowKeyType, TenantTable, grant_sql, policy_sql};
use tenancy_testkit::{APP, TestTenants};
use tenancy_vector::pgvector::PgVectorBackend;
use tenancy_vector::{VectorError, VectorStore};

use crate::cases;
use crate::library::{code, run};
use crate::world::World;

/// A database with a tenant table more, and a role that drops lives which is of this database alone: roles are the server's.
struct Stage {
    tenants: TestTenants,
    world: World,
    role: String,
}

impl Stage {
    async fn new(keys: RowKeyType) -> Self {
        let (tenants, mut world) = (TestTenants::new().await, World::bare(cases::schema()).await);
        world.tables = world.tables.with_row_keys(keys).unwrap();
        let note = TenantTable::new("public", "note", "tenant_id", keys).unwrap();
        let tables = world.tables.tenant_tables();
        let declared = tables.into_iter().fold(Declaration::builder(), |all, table| all.tenant_table(table));
        world.declaration = declared.tenant_table(note).global_table("public", "plan").build().unwrap();
        let role = format!("eraser_of_{}", world.server.name());
        world.server.run(&format!("create role \"{role}\" login")).await;
        let stage = Self { tenants, world, role };
        stage.migrate().await;
        let key = format!("{keys:?}").to_lowercase();
        let server = &stage.world.server;
        server.run_as_owner(&format!("create table note (tenant_id {key} not null, body text)")).await;
        server.run_as_owner("create table plan (name text)").await;
        server.run(&format!("grant select on plan to \"{}\"", stage.role)).await;
        server.run_as_owner(&policy_sql(&stage.world.declaration)).await;
        server.run_as_owner(&grant_sql(&stage.world.declaration, APP)).await;
        stage
    }

    async fn migrate(&self) {
        let sql = self.world.tables.migration_sql(&self.world.declaration, APP, &self.role).unwrap();
        self.world.server.run_as_owner(&sql).await;
    }

    async fn store(&self, login: Option<PgConnectOptions>) -> VectorStore {
        let database = self.world.database(self.tenants.realm()).await;
        let backend = PgVectorBackend::new(database, self.world.tables.clone()).unwrap();
        let backend = match login {
            Some(login) => backend.erasing_as(login),
            None => backend,
        };
        VectorStore::new(self.tenants.realm(), backend, self.world.schema.clone())
    }

    fn named(&self, sql: &str) -> String {
        sql.replace("{eraser}", &format!("\"{}\"", self.role))
    }
}

async fn refusal(store: &VectorStore) -> String {
    match store.prepare().await {
        Err(VectorError::Unfit(reason)) => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Each with what takes it back beside the migration, and what is said of it.
const WRONG: &[(&str, &str, &str, &str)] = &[
    ("it deletes no point", "revoke delete on chunk from {eraser}", "", "no right to DELETE on \"public\".\"chunk\":"),
    (
        "it reads no life",
        "revoke select on chunk_life from {eraser}",
        "",
        "no right to SELECT on \"public\".\"chunk_life\"",
    ),
    ("it enters no life", "revoke insert on chunk_life from {eraser}", "", "no right to INSERT"),
    ("it closes no life", "revoke update (open) on chunk_life from {eraser}", "", "no right to UPDATE (open)"),
    (
        "it changes lives",
        "grant update on chunk_life to {eraser}",
        "",
        "the right to UPDATE on \"public\".\"chunk_life\"",
    ),
    (
        "it hands lives on",
        "grant update (tenant_id) on chunk_life to {eraser}",
        "",
        "the right to UPDATE (tenant_id) on \"public\".\"chunk_life\"",
    ),
    (
        "it hands a right on",
        "grant update (open) on chunk_life to {eraser} with grant option",
        "",
        "the right to UPDATE WITH GRANT OPTION (open) on \"public\".\"chunk_life\"",
    ),
    (
        "it hands a right on a table on",
        "grant delete on chunk to {eraser} with grant option",
        "",
        "the right to DELETE WITH GRANT OPTION on \"public\".\"chunk\"",
    ),
    ("it writes points", "grant insert on chunk to {eraser}", "", "the right to INSERT on \"public\".\"chunk\""),
    ("it empties the table", "grant truncate on chunk to {eraser}", "", "the right to TRUNCATE"),
    (
        "it reads other rows",
        "grant select (body) on note to {eraser}",
        "revoke all on note from {eraser}",
        "reaches public.note",
    ),
    (
        "it reads a child of other rows",
        "create table part () inherits (note); grant select on part to {eraser}",
        "drop table part",
        "reaches public.part",
    ),
    (
        "it changes what every tenant reads",
        "grant insert on plan to {eraser}",
        "revoke insert on plan from {eraser}",
        "reaches public.plan",
    ),
    (
        "it changes a parent of what every tenant reads",
        "create table base (name text); alter table plan inherit base; grant update on base to {eraser}",
        "alter table plan no inherit base; drop table base",
        "reaches public.base",
    ),
    (
        "it reads a parent of the points",
        "create table base (id uuid not null); alter table chunk inherit base; grant select on base to {eraser}",
        "alter table chunk no inherit base; drop table base",
        "reaches public.base",
    ),
    ("it makes roles", "alter role {eraser} createrole", "alter role {eraser} nocreaterole", "CREATEROLE"),
    ("a superuser", "alter role {eraser} superuser", "alter role {eraser} nosuperuser", "superuser"),
    ("it goes past policies", "alter role {eraser} bypassrls", "alter role {eraser} nobypassrls", "BYPASSRLS"),
    ("it can become the owner", "grant own to {eraser}", "revoke own from {eraser}", "owner of"),
    ("it can become the service", "grant app to {eraser}", "revoke app from {eraser}", "the service's own"),
    ("it may not log in", "alter role {eraser} nologin", "alter role {eraser} login", "login that drops lives"),
    (
        "it sees no point",
        "drop policy tenancy_vector_eraser on chunk",
        "",
        "the policy tenancy_vector_eraser on \"public\".\"chunk\" is not there",
    ),
    (
        "it sees no life",
        "drop policy tenancy_vector_eraser on chunk_life",
        "",
        "the policy tenancy_vector_eraser on \"public\".\"chunk_life\" is not there",
    ),
    (
        "it counts no point of a life that is gone",
        "drop policy tenancy_vector_verifier on chunk",
        "",
        "the policy tenancy_vector_verifier on \"public\".\"chunk\" is not there",
    ),
    (
        "it sees everybody's points",
        "alter policy tenancy_vector_eraser on chunk using (true)",
        "",
        "the policy tenancy_vector_eraser on \"public\".\"chunk\"",
    ),
    (
        "a policy more",
        "create policy wide on chunk_life to {eraser} using (true)",
        "drop policy wide on chunk_life",
        "the policy \"wide\" on \"public\".\"chunk_life\" is none of the migration's",
    ),
    (
        "points are hidden from it, so that it would count none",
        "create policy floor on chunk as restrictive
             using (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid)",
        "drop policy floor on chunk",
        "the policy \"floor\" on \"public\".\"chunk\"",
    ),
    (
        "the schema is closed to it",
        "revoke usage on schema public from public, {eraser}",
        "grant usage on schema public to public",
        "USAGE",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_eraser_is_found_before_serving() {
    let stage = Stage::new(RowKeyType::Uuid).await;
    let store = stage.store(Some(stage.world.server.options(&stage.role))).await;
    store.prepare().await.unwrap();
    for (mechanism, breaks, mends, said) in WRONG {
        stage.world.server.run(&stage.named(breaks)).await;
        let why = refusal(&store).await;
        assert!(why.contains(said) && !why.contains("withheld"), "{mechanism}: {why}");
        stage.world.server.run(&stage.named(mends)).await;
        stage.migrate().await;
        store.prepare().await.unwrap_or_else(|error| panic!("positive control: {mechanism}: {error}"));
    }
    for (mechanism, login, said) in [
        ("the service's role", stage.world.server.app_options(), "the service's own"),
        ("the owner", stage.world.server.owner_options(), "owner of"),
        ("a superuser", stage.world.server.superuser_options(), "superuser"),
        ("the eraser of another pair", stage.world.eraser(), "no right to"),
        ("nobody", stage.world.server.options("nobody_of_this_name"), "login that drops lives"),
    ] {
        let why = refusal(&stage.store(Some(login)).await).await;
        assert!(why.contains(said), "{mechanism}: {why}");
    }
}

/// What the catalog prints depends on the type of the row keys.
#[tokio::test(flavor = "multi_thread")]
async fn the_eraser_of_any_row_keys_is_known() {
    for keys in [RowKeyType::Uuid, RowKeyType::BigInt, RowKeyType::Text] {
        let stage = Stage::new(keys).await;
        let store = stage.store(Some(stage.world.server.options(&stage.role))).await;
        store.prepare().await.unwrap_or_else(|error| panic!("{keys:?}: {error}"));
    }
}

/// It reads and writes; what it has no login for it does not do, and does not say that it did.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_only_serves_erases_nothing() {
    let stage = Stage::new(RowKeyType::Uuid).await;
    let (tenants, serving) = (&stage.tenants, stage.store(None).await);
    serving.prepare().await.unwrap();
    let mine = cases::of(tenants, &serving, "acme").await;
    mine.upsert(vec![cases::point("A1", 0.5, "acme")]).await.unwrap();
    let (life, ttl) = (tenants.life("acme"), Duration::from_secs(60));
    let credential = Credential::bearer(tenants.operator_token());
    let acme = Reach::One(TenantId::parse("acme").unwrap());
    let grant = tenants.realm().operators().open(&credential, "offboarding", "CASE-1", acme, ttl).await.unwrap();
    tenants.erase("acme");
    let failed = tenants.realm().erase_store(&grant, life, &serving).await.unwrap();
    assert!(failed.is_failed() && failed.why().is_some_and(|why| why.contains("erasing_as")), "{failed:?}");
    let records = tenants.audit().await;
    let reason = records.iter().rfind(|record| record.action() == "erase").and_then(|record| record.reason());
    assert_eq!(reason, failed.why(), "and it is on record");
    assert_eq!(stage.world.number("select count(*) from chunk").await, 1, "nothing was dropped");
    let erasing = stage.store(Some(stage.world.server.options(&stage.role))).await;
    assert_eq!(tenants.realm().erase_store(&grant, life, &erasing).await, Ok(StoreVerdict::LogicalOnly));
    assert_eq!(stage.world.number("select count(*) from chunk").await, 0);
    let mut late = stage.world.app(life.uuid()).await;
    assert_eq!(code(run(&mut late, "update chunk_life set open = true").await), "42501", "and nobody opens it again");
}
