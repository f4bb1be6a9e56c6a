//! The audit log on Postgres, written by real realms.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};
use tenancy_core::audit::BreakKind;
use tenancy_core::permission::{ManageKeys, ReadAudit};
use tenancy_core::{
    AuditBatch, AuditError, AuditRecord, AuditSink, Credential, Denial, Life, LocalKeyProvider, MemoryKeyStore,
    Outcome, Reach, Realm, RealmName, RootKey, StaticDirectory, TenantContext, TenantId, TenantRecord, VerifyReport,
    verify_log,
};
use tenancy_pg::{PgAuditSink, PgError, migrate_audit, migrate_control};
use tenancy_testkit::{CONTROL, TestDatabase, TestIssuer, ThrowawayPostgres};

use crate::common::{plain_role, scalar};

pub(crate) const AUDIT: &str = "audit";

async fn database() -> TestDatabase {
    let server = ThrowawayPostgres::shared().await.fresh_database().await;
    plain_role(&server, AUDIT).await;
    for _again in 0..2 {
        migrate_audit(server.owner_options(), AUDIT).await.unwrap();
    }
    server
}

fn realm_name(name: &str) -> RealmName {
    RealmName::parse(name).unwrap()
}

async fn sink(server: &TestDatabase, realm: &str) -> PgAuditSink {
    PgAuditSink::connect(plain_role(server, AUDIT).await, &realm_name(realm)).await.unwrap()
}

/// A realm with two tenants whose users may read their audit log and nothing else.
struct World {
    realm: Realm,
    issuer: TestIssuer,
    operators: TestIssuer,
}

impl World {
    async fn new(name: &str, sink: impl AuditSink) -> Self {
        let issuer = TestIssuer::new("https://login.test", "rag");
        let operators = TestIssuer::new("https://staff.test", "rag-operators");
        let directory = StaticDirectory::new();
        for tenant in ["acme", "globex"] {
            let born = SystemTime::now() - Duration::from_secs(3600);
            let record = TenantRecord::new(TenantId::parse(tenant).unwrap(), Life::random(), born)
                .claim(issuer.issuer(), tenant)
                .role(issuer.issuer(), "auditor", ["read-audit"]);
            directory.add(record).unwrap();
        }
        let realm = Realm::builder(realm_name(name))
            .directory(directory)
            .issuers([issuer.for_tenants()])
            .operators([operators.for_operators()])
            .keys(LocalKeyProvider::new(RootKey::generate()), MemoryKeyStore::new())
            .audit(sink)
            .build()
            .await
            .unwrap();
        Self { realm, issuer, operators }
    }

    async fn context(&self, tenant: &str, user: &str) -> TenantContext {
        let claims = self.issuer.claims(user, Some(tenant), &["auditor"], SystemTime::now());
        self.realm.authenticate(&Credential::bearer(self.issuer.sign(&claims))).await.unwrap()
    }

    /// Makes one record that is queued singly: different users' denials are not counted together.
    async fn denied(&self, tenant: &str, user: &str) {
        assert_eq!(self.context(tenant, user).await.authorize::<ManageKeys>().unwrap_err(), Denial::PermissionMissing);
    }

    async fn listed(&self, tenant: &str) -> Result<Vec<AuditRecord>, Denial> {
        let ctx = self.context(tenant, "reader").await;
        let proof = ctx.authorize::<ReadAudit>().unwrap();
        ctx.audit(&proof).await
    }
}

async fn exported(server: &TestDatabase, realm: &str) -> VerifyReport {
    let sink = sink(server, realm).await;
    tokio::task::spawn_blocking(move || {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let lines = sink.export(&mut file).unwrap();
        let report = verify_log(file.path()).unwrap();
        assert_eq!(lines, report.records);
        report
    })
    .await
    .unwrap()
}

async fn rows(server: &TestDatabase, condition: &str) -> i64 {
    let sql = format!("select count(*) from tenancy_control.audit where {condition}");
    scalar(&server.superuser_options(), &sql).await
}

/// Polls until the count is reached: never for a time that hopes.
async fn until(server: &TestDatabase, sql: &str, wanted: i64) {
    for _poll in 0..1000 {
        if scalar(&server.superuser_options(), sql).await == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never {wanted}: {sql}");
}

const WAITING: &str = "select count(*) from pg_stat_activity where usename = 'audit' and datname = current_database()
                       and wait_event_type = 'Lock'";

#[tokio::test]
async fn nothing_is_lost_of_two_writers_and_their_chains_are_whole() {
    const EACH: usize = 60;
    let server = database().await;
    let worlds =
        [World::new("prod", sink(&server, "prod").await).await, World::new("prod", sink(&server, "prod").await).await];
    let floods = worlds.iter().enumerate().map(async |(n, world)| {
        for user in 0..EACH {
            world.denied(["acme", "globex"][user % 2], &format!("u{n}-{user}")).await;
            world.denied("acme", "same").await;
        }
        world.realm.close().await.unwrap();
    });
    futures_util::future::join_all(floods).await;
    let report = exported(&server, "prod").await;
    assert!(report.is_clean(), "{report:?}");
    let started_and_closed = 4;
    assert_eq!(report.events as usize, 2 * 2 * EACH + started_and_closed);
    assert!(report.chains >= 6, "two tenants' lanes and the operators', of each writer");
    assert_eq!(scalar(&server.superuser_options(), "select count(distinct boot) from tenancy_control.audit").await, 2);
}

#[tokio::test]
async fn a_tenant_lists_its_own_life_and_what_reaches_everyone() {
    let server = database().await;
    let world = World::new("prod", sink(&server, "prod").await).await;
    let other = World::new("test", sink(&server, "test").await).await;
    for (world, user) in [(&world, "ann"), (&other, "eve")] {
        world.denied("acme", user).await;
        world.denied("globex", user).await;
        let token = world.operators.sign(&world.operators.claims("op", None, &[], SystemTime::now()));
        let (reason, ttl) = ("looking at all tenants", Duration::from_secs(60));
        world.realm.operators().open(&Credential::bearer(token), reason, "CASE-1", Reach::Every, ttl).await.unwrap();
        world.realm.flush().await.unwrap();
    }
    let mine = world.context("acme", "reader").await.life();
    let listed = world.listed("acme").await.unwrap();
    let (about, everyone): (Vec<_>, Vec<_>) = listed.iter().partition(|record| record.life() == Some(mine));
    assert!(about.iter().any(|record| record.subject() == Some("ann")));
    assert_eq!(everyone.len(), 1, "of its own realm");
    assert!(listed.iter().all(|record| record.realm() == "prod" && record.is_intact()));
    assert!(listed.is_sorted_by_key(AuditRecord::at));
}

#[tokio::test]
async fn the_listing_uses_an_index() {
    let server = database().await;
    let mut connection = PgConnection::connect_with(&plain_role(&server, AUDIT).await).await.unwrap();
    connection.execute("set enable_seqscan = off").await.unwrap();
    for condition in ["life = '00000000-0000-4000-8000-000000000001'", "everyone"] {
        let explain = format!("explain select line from tenancy_control.audit where realm = 'prod' and {condition}");
        let plan: Vec<String> =
            sqlx::query_scalar(sqlx::AssertSqlSafe(explain)).fetch_all(&mut connection).await.unwrap();
        assert!(plan.join("\n").contains("audit_of_"), "{plan:?}");
    }
}

/// Fails after the inner sink has kept the batch: an answer that was lost.
struct LosesAnswers(PgAuditSink, AtomicBool);

impl AuditSink for LosesAnswers {
    fn append(&self, batch: &AuditBatch<'_>) -> Result<(), AuditError> {
        self.0.append(batch)?;
        if self.1.fetch_xor(true, Ordering::SeqCst) { Err(AuditError::sink("lost")) } else { Ok(()) }
    }

    fn list(&self, life: Life) -> Result<Vec<AuditRecord>, AuditError> {
        self.0.list(life)
    }
}

#[tokio::test]
async fn a_batch_that_is_handed_in_again_is_there_once() {
    let server = database().await;
    let lossy = LosesAnswers(sink(&server, "prod").await, AtomicBool::new(true));
    let world = World::new("prod", lossy).await;
    for user in 0..5 {
        world.denied("acme", &format!("u{user}")).await;
        world.realm.flush().await.unwrap();
    }
    world.realm.close().await.unwrap();
    let report = exported(&server, "prod").await;
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.records, 5 + 2);
}

#[tokio::test]
async fn a_connection_killed_in_the_middle_of_an_append_loses_and_doubles_nothing() {
    let server = database().await;
    let world = World::new("prod", sink(&server, "prod").await).await;
    world.realm.flush().await.unwrap();
    for round in 0..3 {
        let mut lock = PgConnection::connect_with(&server.superuser_options()).await.unwrap();
        lock.execute("begin; lock table tenancy_control.audit in share row exclusive mode").await.unwrap();
        world.denied("acme", &format!("u{round}")).await;
        until(&server, WAITING, 1).await;
        let kill = "select count(pg_terminate_backend(pid)) from pg_stat_activity
                    where usename = 'audit' and datname = current_database() and wait_event_type = 'Lock'";
        assert_eq!(scalar(&server.superuser_options(), kill).await, 1);
        // It tries again, on another connection.
        until(&server, WAITING, 1).await;
        lock.execute("commit").await.unwrap();
        world.realm.flush().await.unwrap();
        assert_eq!(rows(&server, "line like '%permission%'").await, round + 1);
    }
    world.realm.close().await.unwrap();
    assert!(exported(&server, "prod").await.is_clean());
}

#[tokio::test]
async fn no_part_of_a_batch_that_fails_is_seen() {
    let server = database().await;
    let world = World::new("prod", sink(&server, "prod").await).await;
    world.realm.flush().await.unwrap();
    let before = rows(&server, "true").await;
    // While the writer is kept waiting by the first record the others queue up and become one batch, whose last fails.
    server
        .run(
            "create function refuse() returns trigger language plpgsql as
             $$ begin if new.line like '%\"subject\":\"last\"%' then raise 'no'; end if; return new; end $$;
             create trigger refuse before insert on tenancy_control.audit for each row execute function refuse();",
        )
        .await;
    let mut lock = PgConnection::connect_with(&server.superuser_options()).await.unwrap();
    lock.execute("begin; lock table tenancy_control.audit in share row exclusive mode").await.unwrap();
    world.denied("acme", "first").await;
    until(&server, WAITING, 1).await;
    for user in ["a", "b", "c", "last"] {
        world.denied("acme", user).await;
    }
    lock.execute("commit").await.unwrap();
    until(&server, "select count(*) from tenancy_control.audit where line like '%\"subject\":\"first\"%'", 1).await;
    assert_eq!(world.realm.flush().await.unwrap_err(), Denial::AuditUnavailable);
    assert_eq!(rows(&server, "true").await, before + 1);
    server.run("drop trigger refuse on tenancy_control.audit").await;
    while world.realm.flush().await.is_err() {}
    assert_eq!(rows(&server, "true").await, before + 5);
    world.realm.close().await.unwrap();
    assert!(exported(&server, "prod").await.is_clean());
}

#[tokio::test]
async fn a_log_that_can_not_be_written_closes_the_door_and_opens_it_again() {
    let server = database().await;
    let world = World::new("prod", sink(&server, "prod").await).await;
    let ctx = world.context("acme", "ann").await;
    server.run("revoke insert on tenancy_control.audit from audit").await;
    let _denied = ctx.authorize::<ManageKeys>().unwrap_err();
    assert_eq!(world.realm.flush().await.unwrap_err(), Denial::AuditUnavailable);
    server.run("grant insert on tenancy_control.audit to audit").await;
    while world.realm.flush().await.is_err() {}
    assert!(world.listed("acme").await.unwrap().iter().any(|record| record.outcome() == Outcome::Denied));
}

#[tokio::test]
async fn what_the_owner_changes_is_found_and_takes_the_listing_of_that_tenant_only() {
    let server = database().await;
    let world = World::new("prod", sink(&server, "prod").await).await;
    for tenant in ["acme", "globex"] {
        for user in 0..3 {
            world.denied(tenant, &format!("{tenant}{user}")).await;
        }
    }
    world.realm.flush().await.unwrap();
    let was = "line like '%\"subject\":\"acme1\"%'";
    server.run(&format!("update tenancy_control.audit set line = replace(line, 'acme1', 'nobody') where {was}")).await;
    assert_eq!(world.listed("acme").await.unwrap_err(), Denial::AuditUnavailable);
    assert!(!world.listed("globex").await.unwrap().is_empty());
    let report = exported(&server, "prod").await;
    assert!(report.breaks.iter().any(|found| found.kind == BreakKind::Altered), "{report:?}");

    server.run("delete from tenancy_control.audit where line like '%\"subject\":\"nobody\"%'").await;
    let report = exported(&server, "prod").await;
    assert!(report.breaks.iter().any(|found| found.kind == BreakKind::Missing), "{report:?}");
    // Moved under another life by its columns, a record still says whose it is.
    let globex = world.context("globex", "reader").await.life().uuid();
    server.run(&format!("update tenancy_control.audit set life = '{globex}' where life <> '{globex}'")).await;
    assert_eq!(world.listed("globex").await.unwrap_err(), Denial::AuditUnavailable);
}

#[tokio::test]
async fn records_of_another_realm_are_not_taken() {
    let server = database().await;
    let world = World::new("prod", sink(&server, "another").await).await;
    assert_eq!(world.realm.flush().await.unwrap_err(), Denial::AuditUnavailable);
    assert_eq!(rows(&server, "true").await, 0);
}

#[tokio::test]
async fn the_role_may_add_and_read_and_nothing_else() {
    let server = database().await;
    migrate_control(server.owner_options(), CONTROL).await.unwrap();
    let audit = plain_role(&server, AUDIT).await;
    let world = World::new("prod", sink(&server, "prod").await).await;
    world.realm.flush().await.unwrap();
    let control = server.control_options();
    for (who, sql) in [
        (&audit, "update tenancy_control.audit set line = ''"),
        (&audit, "delete from tenancy_control.audit"),
        (&audit, "truncate tenancy_control.audit"),
        (&audit, "select * from tenancy_control.tenant"),
        (&audit, "insert into tenancy_control.ticket values ('x', 1)"),
        (&audit, "create table tenancy_control.t ()"),
        (&control, "select * from tenancy_control.audit"),
        (
            &control,
            "insert into tenancy_control.audit values ('r', 'w', gen_random_uuid(), 1, default, null, true, '')",
        ),
        (&control, "delete from tenancy_control.audit"),
        (&server.app_options(), "select * from tenancy_control.audit"),
    ] {
        let mut connection = PgConnection::connect_with(who).await.unwrap();
        let refused = connection.execute(sql).await.unwrap_err();
        assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "42501", "{sql}");
    }
    assert!(rows(&server, "true").await > 0);
}

#[tokio::test]
async fn a_role_that_can_change_records_or_come_to_is_refused() {
    let server = database().await;
    let connect = async |role: &str| {
        PgAuditSink::connect(server.superuser_options().username(role), &realm_name("prod")).await.map(drop)
    };
    for (role, made) in [
        ("audit_update", "grant update on tenancy_control.audit to audit_update"),
        ("audit_column", "grant update (line) on tenancy_control.audit to audit_column"),
        ("audit_delete", "grant delete on tenancy_control.audit to audit_delete"),
        ("audit_truncate", "grant truncate on tenancy_control.audit to audit_truncate"),
        ("audit_trigger", "grant trigger on tenancy_control.audit to audit_trigger"),
        ("audit_owner", "grant own to audit_owner"),
        ("audit_noinherit", "alter role audit_noinherit noinherit; grant own to audit_noinherit"),
        ("audit_bypass", "alter role audit_bypass bypassrls"),
        ("audit_super", "alter role audit_super superuser"),
    ] {
        plain_role(&server, role).await;
        let plain = "grant usage on schema tenancy_control to $; grant select, insert on tenancy_control.audit to $";
        server.run(&plain.replace('$', role)).await;
        connect(role).await.unwrap();
        server.run(made).await;
        assert!(matches!(connect(role).await, Err(PgError::ControlRole)), "{made}");
        server.run(&format!("alter role {role} nosuperuser nobypassrls; revoke own from {role}")).await;
    }
    plain_role(&server, "audit_none").await;
    assert!(matches!(connect("audit_none").await, Err(PgError::ControlRole)), "it may not even add");
}

#[tokio::test]
async fn a_sink_outlives_the_runtime_it_was_made_in() {
    let server = database().await;
    let world = World::new("prod", sink(&server, "prod").await).await;
    world.denied("acme", "ann").await;
    let realm = Arc::new(world.realm.clone());
    let closed = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(realm.close())
    });
    closed.join().unwrap().unwrap();
    assert!(exported(&server, "prod").await.is_clean());
}
