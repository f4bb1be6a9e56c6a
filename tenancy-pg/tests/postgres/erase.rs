//! Erasing a life: from the registry's fence to the verdict.

use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor};
use tenancy_core::{Credential, CrossTenantGrant, Reach, StoreVerdict, TenantId};
use tenancy_pg::{
    Database, Declaration, Inspected, PgEraser, PgError, PgOptions, RowKeyType, TenantDb, TenantRegistry, TenantTable,
    erasure_sql, grant_sql, policy_sql, queue_sql,
};
use tenancy_testkit::{APP, TestDatabase, TestTenants, ThrowawayPostgres, drop_at_every_poll};

use crate::common::{plain_role, scalar};

pub(crate) const ERASER: &str = "eraser";
const WORKER: &str = "worker";

/// `folder` <- `note` (folders in folders), `event` in two partitions; 25 notes in 5 folders, 10 events of each tenant.
struct Stage {
    tenants: TestTenants,
    server: TestDatabase,
    declaration: Declaration,
    registry: TenantRegistry,
    database: Database<Inspected>,
}

pub(crate) const REGISTRY: &str = "
create schema if not exists tenancy; revoke all on schema tenancy from public;
create table if not exists tenancy.tenant (row_key uuid primary key, life uuid not null unique, live boolean not null default true);
revoke all on tenancy.tenant from public;
grant usage on schema tenancy to control;
grant select, insert, update (live) on tenancy.tenant to control;";

const TABLES: &str = "
create table folder (tenant_id uuid not null references tenancy.tenant, id int, parent int,
    primary key (tenant_id, id), foreign key (tenant_id, parent) references folder);
create table note (tenant_id uuid not null references tenancy.tenant, id int, folder int not null, body text,
    primary key (tenant_id, id), foreign key (tenant_id, folder) references folder);
create table event (tenant_id uuid not null references tenancy.tenant, id int, primary key (tenant_id, id))
    partition by range (id);
create table event_1 partition of event for values from (0) to (5);
create table event_2 partition of event for values from (5) to (1000);";

impl Stage {
    async fn new() -> Self {
        let tenants = TestTenants::builder().build_with(|ready| ready.fence_age(Duration::from_millis(300))).await;
        let server = ThrowawayPostgres::shared().await.fresh_database().await;
        let declaration = declaration(&["folder", "note", "event"]);
        plain_role(&server, WORKER).await;
        plain_role(&server, ERASER).await;
        server.run("grant pg_read_all_stats to eraser").await;
        for sql in [REGISTRY.to_owned(), TABLES.to_owned(), policy_sql(&declaration), grant_sql(&declaration, APP)] {
            server.run_as_owner(&sql).await;
        }
        for _again in 0..2 {
            server.run_as_owner(&queue_sql(&declaration, APP, WORKER)).await;
            server.run_as_owner(&erasure_sql(&declaration, ERASER)).await;
        }
        let registry = TenantRegistry::connect(server.control_options()).await.unwrap();
        let options = PgOptions::new(server.app_options()).max_connections(2);
        for tenant in ["acme", "globex"] {
            registry.register(tenants.context(tenant).await.record()).await.unwrap();
            let key = tenants.life(tenant).uuid();
            server
                .run(&format!(
                    "insert into folder select '{key}', n, nullif(n - 1, 0) from generate_series(1, 5) n;
                     insert into note select '{key}', n, 1 + n % 5, 'secret of {tenant}' from generate_series(1, 25) n;
                     insert into event select '{key}', n from generate_series(1, 10) n;"
                ))
                .await;
        }
        let database = Database::open(tenants.realm(), options, &declaration).await.unwrap();
        Self { tenants, server, declaration, registry, database }
    }

    async fn eraser(&self) -> PgEraser {
        let options = plain_role(&self.server, ERASER).await;
        PgEraser::connect(self.tenants.realm(), options, &self.declaration).await.unwrap().batch(7)
    }

    async fn scoped(&self, tenant: &str) -> TenantDb {
        self.database.scoped(&self.tenants.context(tenant).await).unwrap()
    }

    async fn grant(&self, tenant: &str) -> CrossTenantGrant {
        let credential = Credential::bearer(self.tenants.operator_token());
        let reach = Reach::One(TenantId::parse(tenant).unwrap());
        let (reason, ttl) = ("offboarding of a tenant", Duration::from_secs(600));
        self.tenants.realm().operators().open(&credential, reason, "CASE-1", reach, ttl).await.unwrap()
    }

    /// Asks for the erasure in the directory and lets the store do its part.
    async fn erase(&self, grant: &CrossTenantGrant, life: tenancy_core::Life, eraser: &PgEraser) -> StoreVerdict {
        self.tenants.realm().erase_store(grant, life, eraser).await.unwrap()
    }

    /// A transaction in another database of the server holds the horizon back too, while it lasts.
    async fn verified_after_rewrites(&self, grant: &CrossTenantGrant, life: tenancy_core::Life, eraser: &PgEraser) {
        for _again in 0..200 {
            for table in ["folder", "note", "event"] {
                self.server.run(&format!("vacuum full {table}")).await;
            }
            if self.erase(grant, life, eraser).await == StoreVerdict::Verified {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("never verified");
    }

    async fn left(&self, key: uuid::Uuid) -> i64 {
        let mut all = 0;
        for table in ["folder", "note", "event", "tenancy.tenant", "tenancy_queue.job", "tenancy_queue.turn"] {
            let column = if table.contains('.') { "row_key" } else { "tenant_id" };
            let sql = format!("select count(*) from {table} where {column} = '{key}'");
            all += scalar(&self.server.superuser_options(), &sql).await;
        }
        all
    }
}

pub(crate) fn declaration(tables: &[&str]) -> Declaration {
    let table = |name: &&str| TenantTable::new("public", name, "tenant_id", RowKeyType::Uuid).unwrap();
    let all = tables.iter().map(table).fold(Declaration::builder(), |all, table| all.tenant_table(table));
    all.registry().build().unwrap()
}

#[tokio::test]
async fn a_life_is_gone_with_its_jobs_and_the_neighbour_is_not() {
    let stage = Stage::new().await;
    let (acme, globex) = (stage.tenants.life("acme"), stage.tenants.life("globex"));
    let db = stage.scoped("acme").await;
    let mut tx = db.begin().await.unwrap();
    tx.enqueue::<crate::queue::Ingest>(b"work", Duration::from_secs(60)).await.unwrap();
    tx.commit().await.unwrap();
    let before = stage.left(globex.uuid()).await;
    let grant = stage.grant("acme").await;
    let eraser = stage.eraser().await;
    stage.tenants.erase("acme");
    assert_eq!(stage.erase(&grant, acme, &eraser).await, StoreVerdict::LogicalOnly);
    assert_eq!(stage.left(acme.uuid()).await, 0);
    assert_eq!(stage.left(globex.uuid()).await, before);
    let seen: i64 =
        sqlx::query_scalar("select count(*) from note").fetch_one(&stage.scoped("globex").await).await.unwrap();
    assert_eq!(seen, 25);

    // Late writers of the past life, who are held by nothing but the server: its row level security lets them.
    let mut late = PgConnection::connect_with(&stage.server.app_options()).await.unwrap();
    late.execute(AssertSqlSafe(format!("set tenancy.row_key = '{}'", acme.uuid()))).await.unwrap();
    for sql in [
        "insert into folder values ($1, 1, null)",
        "insert into event values ($1, 1)",
        "insert into tenancy_queue.job (queue, kind, row_key, ticket, payload) values ('q', 'k', $1, '', '')",
    ] {
        let refused = sqlx::query(sql).bind(acme.uuid()).execute(&mut late).await.unwrap_err();
        assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "23503", "{sql}");
    }
    // Again, it finds nothing to do; after the files were written anew nothing is left in them.
    assert_eq!(stage.erase(&grant, acme, &eraser).await, StoreVerdict::LogicalOnly);
    for table in ["folder", "note"] {
        stage.server.run(&format!("vacuum full {table}")).await;
        assert_eq!(stage.erase(&grant, acme, &eraser).await, StoreVerdict::LogicalOnly);
    }
    stage.verified_after_rewrites(&grant, acme, &eraser).await;
}

#[tokio::test]
async fn the_bytes_that_a_running_transaction_may_see_survive_a_rewrite_and_the_verdict_says_so() {
    let stage = Stage::new().await;
    let acme = stage.tenants.life("acme");
    let (grant, eraser) = (stage.grant("acme").await, stage.eraser().await);
    stage.server.run_as_owner("create policy hide on note as restrictive for select to eraser using (id <> 13)").await;
    stage.tenants.erase("acme");
    assert_eq!(
        stage.erase(&grant, acme, &eraser).await,
        StoreVerdict::told(PgError::RowsLeft),
        "fenced, and not yet removed"
    );
    stage.server.run_as_owner("drop policy hide on note").await;
    // Younger than the fence, so nobody waits for it, and older than the removal. It holds no lock on the tables.
    let mut old = PgConnection::connect_with(&stage.server.superuser_options()).await.unwrap();
    old.execute("begin isolation level repeatable read; select 1").await.unwrap();
    assert_eq!(stage.erase(&grant, acme, &eraser).await, StoreVerdict::LogicalOnly);
    for table in ["folder", "note", "event"] {
        stage.server.run(&format!("vacuum full {table}")).await;
    }
    assert_eq!(stage.erase(&grant, acme, &eraser).await, StoreVerdict::LogicalOnly, "the rewrite kept them");
    old.execute("commit").await.unwrap();
    stage.verified_after_rewrites(&grant, acme, &eraser).await;
}

#[tokio::test]
async fn it_waits_for_what_began_before_the_fence() {
    let stage = Stage::new().await;
    let acme = stage.tenants.life("acme");
    let (grant, eraser) = (stage.grant("acme").await, stage.eraser().await.patience(Duration::from_millis(600)));
    let db = stage.scoped("acme").await;
    let mut open = db.begin().await.unwrap();
    sqlx::query("select 1").execute(&mut open).await.unwrap();
    stage.tenants.erase("acme");
    assert_eq!(
        stage.erase(&grant, acme, &eraser).await,
        StoreVerdict::told(PgError::NotDrained),
        "a transaction is open"
    );
    assert!(stage.left(acme.uuid()).await > 40, "nothing is deleted before it has ended");
    open.rollback().await.unwrap();
    assert_eq!(stage.erase(&grant, acme, &eraser.patience(Duration::from_secs(20))).await, StoreVerdict::LogicalOnly);
    assert_eq!(stage.left(acme.uuid()).await, 0);
}

#[tokio::test]
async fn without_a_look_at_other_sessions_nobody_says_that_it_is_done() {
    let stage = Stage::new().await;
    let acme = stage.tenants.life("acme");
    plain_role(&stage.server, "eraser_blind").await;
    stage.server.run_as_owner(&erasure_sql(&stage.declaration, "eraser_blind")).await;
    let options = plain_role(&stage.server, "eraser_blind").await;
    let blind = PgEraser::connect(stage.tenants.realm(), options, &stage.declaration).await.unwrap();
    let grant = stage.grant("acme").await;
    stage.tenants.erase("acme");
    let verdict = stage.erase(&grant, acme, &blind).await;
    assert!(matches!(&verdict, StoreVerdict::Unverifiable { why } if why.contains("pg_read_all_stats")), "{verdict:?}");
    assert_eq!(stage.left(acme.uuid()).await, 0);
}

#[tokio::test]
async fn a_table_that_late_writers_can_reach_is_not_called_erased() {
    let stage = Stage::new().await;
    let acme = stage.tenants.life("acme");
    for change in [
        "alter table event drop constraint event_tenant_id_fkey",
        "alter table event add constraint event_tenant_id_fkey foreign key (tenant_id) references folder_of_another",
    ] {
        if change.contains("folder_of_another") {
            stage
                .server
                .run_as_owner(
                    "create table folder_of_another (tenant_id uuid primary key);
                     insert into folder_of_another select row_key from tenancy.tenant",
                )
                .await;
        }
        stage.server.run_as_owner(change).await;
        let grant = stage.grant("acme").await;
        if change.contains("drop") {
            stage.tenants.erase("acme");
        }
        let verdict = stage.erase(&grant, acme, &stage.eraser().await).await;
        assert!(matches!(&verdict, StoreVerdict::Unverifiable { why } if why.contains("foreign key")), "{verdict:?}");
    }
}

/// Rows that row level security hides from the eraser are no success: the registry's row does not go while they are there.
#[tokio::test]
async fn rows_that_are_hidden_from_the_eraser_are_a_failure() {
    let stage = Stage::new().await;
    let acme = stage.tenants.life("acme");
    stage.server.run_as_owner("create policy hide on note as restrictive for select to eraser using (id <> 13)").await;
    let grant = stage.grant("acme").await;
    stage.tenants.erase("acme");
    assert_eq!(stage.erase(&grant, acme, &stage.eraser().await).await, StoreVerdict::told(PgError::RowsLeft));
    stage.server.run_as_owner("drop policy hide on note").await;
    assert_eq!(stage.erase(&grant, acme, &stage.eraser().await).await, StoreVerdict::LogicalOnly);
}

#[tokio::test]
async fn a_life_the_registry_does_not_know_is_not_erased() {
    let stage = Stage::new().await;
    let acme = stage.tenants.life("acme");
    stage.server.run("delete from note; delete from event; delete from folder; delete from tenancy.tenant").await;
    let grant = stage.grant("acme").await;
    stage.tenants.erase("acme");
    assert_eq!(stage.erase(&grant, acme, &stage.eraser().await).await, StoreVerdict::told(PgError::NotRegistered));
}

#[tokio::test]
async fn dropped_anywhere_it_goes_on_where_it_stopped() {
    let stage = Stage::new().await;
    let acme = stage.tenants.life("acme");
    let globex = stage.left(stage.tenants.life("globex").uuid()).await;
    let (grant, eraser) = (stage.grant("acme").await, stage.eraser().await);
    stage.tenants.erase("acme");
    let mut verdict = None;
    drop_at_every_poll(
        || stage.erase(&grant, acme, &eraser),
        async |_, done| {
            verdict = done;
            let open = "select count(*) from pg_stat_activity where usename = 'eraser' and datname = current_database()
                        and state like 'idle in transaction%'";
            let mut left = 1;
            for _wait in 0..100 {
                left = scalar(&stage.server.superuser_options(), open).await;
                if left == 0 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            assert_eq!(left, 0, "no transaction is left open");
        },
    )
    .await;
    assert_eq!(verdict, Some(StoreVerdict::LogicalOnly));
    assert_eq!(stage.left(acme.uuid()).await, 0);
    assert_eq!(stage.left(stage.tenants.life("globex").uuid()).await, globex);
}

#[tokio::test]
async fn the_eraser_reaches_one_row_key_and_no_more_than_it_needs() {
    let stage = Stage::new().await;
    let options = plain_role(&stage.server, ERASER).await;
    let mut eraser = PgConnection::connect_with(&options).await.unwrap();
    let globex = stage.tenants.life("globex").uuid();
    eraser
        .execute(AssertSqlSafe(format!("set tenancy.erasing = '{}'", stage.tenants.life("acme").uuid())))
        .await
        .unwrap();
    for table in ["folder", "note", "event"] {
        let sql = AssertSqlSafe(format!("select count(*) from {table} where tenant_id = '{globex}'"));
        let seen: i64 = sqlx::query_scalar(sql).fetch_one(&mut eraser).await.unwrap();
        assert_eq!(seen, 0, "{table}");
    }
    let deleted =
        eraser.execute(AssertSqlSafe(format!("delete from note where tenant_id = '{globex}'"))).await.unwrap();
    assert_eq!(deleted.rows_affected(), 0);
    for sql in [
        "update note set body = ''",
        "insert into event values (gen_random_uuid(), 1)",
        "truncate note",
        "select * from event_1",
        "select * from tenancy_queue.job",
        "insert into tenancy.tenant values (gen_random_uuid(), gen_random_uuid())",
        "update tenancy.tenant set row_key = gen_random_uuid()",
    ] {
        let refused = eraser.execute(sql).await.unwrap_err();
        assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "42501", "{sql}");
    }
    let connect = async |options| PgEraser::connect(stage.tenants.realm(), options, &stage.declaration).await.map(drop);
    connect(options).await.unwrap();
    for options in [
        stage.server.app_options(),
        stage.server.owner_options(),
        stage.server.superuser_options(),
        stage.server.control_options(),
    ] {
        assert!(matches!(connect(options).await, Err(PgError::ControlRole)));
    }
}

#[tokio::test]
async fn the_registry_keeps_lives_and_row_keys_apart() {
    let stage = Stage::new().await;
    let acme = stage.tenants.context("acme").await.record().clone();
    let globex = stage.tenants.context("globex").await.record().clone();
    stage.registry.register(&acme).await.unwrap();
    let stolen = acme.clone().row_key_of(globex.row_key().clone());
    assert!(matches!(stage.registry.register(&stolen).await, Err(PgError::Conflict(_))));
    stage.registry.fence(acme.life()).await.unwrap();
    stage.registry.fence(acme.life()).await.unwrap();
    let live = "select count(*) from tenancy.tenant where live";
    assert_eq!(scalar(&stage.server.superuser_options(), live).await, 1);
    stage.registry.lift(acme.life()).await.unwrap();
    assert_eq!(scalar(&stage.server.superuser_options(), live).await, 2);
    assert!(matches!(stage.registry.fence(tenancy_core::Life::random()).await, Err(PgError::Conflict(_))));
    let refused = TenantRegistry::connect(stage.server.superuser_options()).await.unwrap_err();
    assert!(matches!(refused, PgError::ControlRole));
}
