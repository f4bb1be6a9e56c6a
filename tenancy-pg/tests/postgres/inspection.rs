//! What the inspection finds, and that mending it is enough.

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnectOptions;
use tenancy_pg::{
    Code, Database, Declaration, InspectPolicy, Inspection, PgError, PgOptions, RowKeyType, Severity, TenantTable,
    grant_sql, hardening_sql, policy_sql,
};
use tenancy_testkit::APP;

use crate::common::{GLOBEX, World, bodies};

pub(crate) async fn report(world: &World, login: PgConnectOptions) -> Inspection {
    let database = Database::connect(world.tenants.realm(), PgOptions::new(login)).await.unwrap();
    database.report(&world.declaration, InspectPolicy::new()).await.unwrap()
}

/// The codes of what is fatal for the app role.
async fn found(world: &World) -> Vec<Code> {
    let report = report(world, world.server.app_options()).await;
    let mut codes: Vec<Code> = report.fatal().map(|finding| finding.code).collect();
    codes.dedup();
    codes
}

/// Breaks, looks, mends, looks again.
async fn each_is_found_and_mended(world: &World, cases: &[(&str, &str, Code, &str)]) {
    assert_eq!(found(world).await, [], "before");
    for (what, break_it, code, mend_it) in cases {
        world.server.run(&world.named(break_it)).await;
        let report = report(world, world.server.app_options()).await;
        assert!(report.has(*code), "{what}: {report}");
        let refused = Database::open(world.tenants.realm(), world.options(), &world.declaration).await.unwrap_err();
        assert!(matches!(refused, PgError::Inspection(_)), "{what}");
        world.server.run(&world.named(mend_it)).await;
        assert_eq!(found(world).await, [], "{what}: mended");
    }
}

impl World {
    /// Roles are the cluster's, so each database has its own.
    pub(crate) fn named(&self, sql: &str) -> String {
        sql.replace("{role}", &format!("role_{}", self.server.name())).replace("{db}", self.server.name())
    }
}

/// What is switched on, and what is where a table was declared.
#[tokio::test]
async fn tables_and_switches_are_looked_at() {
    let world = World::new().await;
    each_is_found_and_mended(
        &world,
        &[
            ("no FORCE, app is not the owner", "alter table note no force row level security", Code::NotForced, "alter table note force row level security"),
            ("RLS off, policies there", "alter table note disable row level security", Code::RlsDisabled, "alter table note enable row level security"),
            ("TRUNCATE", "grant truncate on note to app", Code::TableRight, "revoke truncate on note from app"),
            ("TRIGGER through PUBLIC", "grant trigger on note to public", Code::TableRight, "revoke trigger on note from public"),
            ("REFERENCES on a column", "grant references (id) on note to app", Code::TableRight, "revoke references (id) on note from app"),
            ("a nullable tenant column", "alter table note alter tenant_id drop not null", Code::TenantColumn, "alter table note alter tenant_id set not null"),
            ("another name of the column", "alter table note rename tenant_id to owner_id", Code::TenantColumn, "alter table note rename owner_id to tenant_id"),
            ("the table is not there", "alter table note rename to elsewhere", Code::TableMissing, "alter table elsewhere rename to note"),
            ("a view in its place", "alter table note rename to real; revoke all on real from app; create view note as select * from real; grant select on note to app", Code::NotATable, "drop view note; alter table real rename to note; grant select, insert, update, delete on note to app"),
            ("a default tenant of the role", "alter role app in database {db} set tenancy.row_key = '7'", Code::DefaultSetting, "alter role app in database {db} reset tenancy.row_key"),
            ("a default tenant of the database", "alter database {db} set \"tenancy.row_key\" = '7'", Code::DefaultSetting, "alter database {db} reset \"tenancy.row_key\""),
        ],
    )
    .await;
}

/// P7, P8, P14 and relatives: what lies beside the declared tables.
#[tokio::test]
async fn everything_within_reach_is_declared_or_found() {
    let world = World::new().await;
    each_is_found_and_mended(
        &world,
        &[
            ("P14: a new table", "create table extra (x int); grant select on extra to app", Code::Undeclared, "revoke select on extra from app"),
            ("one column of a table", "grant select (x) on extra to app", Code::Undeclared, "revoke select (x) on extra from app"),
            ("through PUBLIC", "grant insert on extra to public", Code::Undeclared, "revoke insert on extra from public"),
            ("through a role that app can become", "create role {role}; alter role app noinherit; grant {role} to app; grant select on extra to {role}", Code::Undeclared, "revoke select on extra from {role}; drop role {role}; alter role app inherit"),
            ("in another schema", "create schema aside; create table aside.extra (x int); grant select on aside.extra to app", Code::Undeclared, "drop schema aside cascade"),
            ("P8: a view of the owner", "create view note_view as select * from note; grant select on note_view to app", Code::ViewUnheld, "drop view note_view"),
            ("a materialized view", "create materialized view note_copy as select * from note; grant select on note_copy to app", Code::MaterializedView, "drop materialized view note_copy"),
            ("a partitioned table", "create table parts (x int) partition by list (x); grant delete on parts to app", Code::Undeclared, "drop table parts"),
            ("P7: a child that app may read", "create table note_child () inherits (note); grant select on note_child to app", Code::ChildReachable, "revoke select on note_child from app"),
            ("a child of a child", "create table note_grandchild () inherits (note_child); grant update on note_grandchild to app", Code::ChildReachable, "drop table note_grandchild; drop table note_child"),
            ("global, and a view of a tenant table", "alter table country rename to real; revoke all on real from app; create view country as select body as code from note; grant select on country to app", Code::GlobalReadsTenant, "drop view country; alter table real rename to country; grant select on country to app"),
            ("global, and a view of a view", "alter table country rename to real; revoke all on real from app; create view inner_view as select * from note; create view country as select body as code from inner_view; grant select on country to app", Code::GlobalReadsTenant, "drop view country; drop view inner_view; alter table real rename to country; grant select on country to app"),
        ],
    )
    .await;
}

/// What the service makes itself has no policy, and is every tenant's.
#[tokio::test]
async fn a_right_to_create_is_fatal() {
    let world = World::new().await;
    let place = "role {role}; alter role app noinherit; grant {role} to app";
    each_is_found_and_mended(
        &world,
        &[
            (
                "in the schema of the tables",
                "grant create on schema public to app",
                Code::CreateRight,
                "revoke create on schema public from app",
            ),
            (
                "through PUBLIC, as before Postgres 15",
                "grant create on schema public to public",
                Code::CreateRight,
                "revoke create on schema public from public",
            ),
            (
                "in another schema",
                "create schema aside; grant create on schema aside to app",
                Code::CreateRight,
                "drop schema aside",
            ),
            ("in a schema of its own", "create schema aside authorization app", Code::CreateRight, "drop schema aside"),
            (
                "in the catalog",
                "grant create on schema pg_catalog to app",
                Code::CreateRight,
                "revoke create on schema pg_catalog from app",
            ),
            (
                "schemas",
                "grant create on database {db} to app",
                Code::CreateRight,
                "revoke create on database {db} from app",
            ),
            (
                "through a role that app can become",
                &format!("create {place}; grant create on schema public to {{role}}"),
                Code::CreateRight,
                "revoke create on schema public from {role}; drop role {role}; alter role app inherit",
            ),
        ],
    )
    .await;
    let temporary = world.named("grant temporary on database {db} to app");
    world.server.run(&temporary).await;
    assert_eq!(found(&world).await, [], "a temporary table is the session's, and that is closed");
}

/// Open to every role in a new database, so only a warning unless asked for.
#[tokio::test]
async fn large_objects_are_found_until_the_database_is_hardened() {
    let world = World::new().await;
    let strict = InspectPolicy::new().shared_objects(Severity::Fatal);
    let open = async || {
        let uninspected = Database::connect(world.tenants.realm(), world.options()).await.unwrap();
        uninspected.inspect_with(&world.declaration, strict).await
    };
    let large = async || {
        let report = report(&world, world.server.app_options()).await;
        report.findings.into_iter().find(|finding| finding.code == Code::LargeObjects)
    };
    let finding = large().await.unwrap();
    assert_eq!((finding.severity, finding.code.class()), (Severity::Warning, "shared_objects"));
    let refused = open().await.unwrap_err();
    assert!(matches!(&refused, PgError::Inspection(report) if report.fatal().count() == 1), "{refused}");

    for _again in 0..2 {
        world.server.run(&hardening_sql()).await;
    }
    assert_eq!(large().await, None);
    let database = open().await.unwrap();
    let acme = world.scoped(&database, "acme").await;
    for sql in [
        "select lo_from_bytea(0, 'x')",
        "select lo_create(0)",
        "select lo_creat(-1)",
        "select lo_get(1)",
        "select lo_get(1, 0, 1)",
        "select lo_open(1, 262144)",
        "select lo_put(1, 0, 'x')",
        "select lo_unlink(1)",
        "select * from pg_largeobject",
    ] {
        let refused = sqlx::query(sql).execute(&acme).await.unwrap_err();
        assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "42501", "{sql}");
    }
    for (function, name) in
        [("lo_get(oid)", "app"), ("lo_import(text, oid)", "public"), ("loread(integer, integer)", "app")]
    {
        world.server.run(&format!("grant execute on function {function} to {name}")).await;
        assert_eq!(large().await.unwrap().object, function);
        world.server.run(&format!("revoke execute on function {function} from {name}")).await;
    }
    assert_eq!(large().await, None);
}

/// P8's second half: clean once is not clean for ever.
#[tokio::test]
async fn a_later_inspection_stops_handles_that_were_given_out() {
    let world = World::new().await;
    let database = world.open().await;
    let globex = world.scoped(&database, "globex").await;
    assert_eq!(bodies(&globex).await, GLOBEX);
    world.server.run("create view late as select * from note; grant select on late to app").await;
    let refused = database.reinspect().await.unwrap_err();
    assert!(matches!(&refused, PgError::Inspection(report) if report.has(Code::ViewUnheld)));
    assert!(refused.to_string().contains("PG031"), "{refused}");
    assert!(matches!(globex.begin().await, Err(PgError::Inspection(_))));
    let by_statement = sqlx::query("select 1").execute(&globex).await.unwrap_err();
    assert!(matches!(PgError::from(by_statement), PgError::Inspection(_)));
    assert!(sqlx::query("select 1").execute(&database.untenanted()).await.is_err());
    world.server.run("drop view late").await;
    database.reinspect().await.unwrap();
    assert_eq!(bodies(&globex).await, GLOBEX);
}

/// P16: a finding of its own class, fatal only when asked for.
#[tokio::test]
async fn an_old_server_is_a_matter_of_policy() {
    let world = World::new().await;
    let database = world.open().await;
    let inspection = database.inspection();
    let Some(finding) = inspection.findings.iter().find(|finding| finding.code == Code::ServerRelease) else {
        let floor = [(14, 25), (15, 20), (16, 16), (17, 12), (18, 7)];
        let (major, minor) = (inspection.server_version / 10_000, inspection.server_version % 10_000);
        assert!(floor.iter().all(|(of, least)| *of != major || minor >= *least), "{major}.{minor}");
        return;
    };
    assert_eq!((finding.severity, finding.code.class()), (Severity::Warning, "server"));
    assert!(finding.why.contains("CVE-2026-120154"), "{finding}");
    let strict = InspectPolicy::new().server_floor(Severity::Fatal);
    let uninspected = Database::connect(world.tenants.realm(), world.options()).await.unwrap();
    let refused = uninspected.inspect_with(&world.declaration, strict).await.unwrap_err();
    assert!(matches!(&refused, PgError::Inspection(report) if report.fatal().count() == 1), "{refused}");
}

#[tokio::test]
async fn the_report_reads_for_people_and_programs() {
    let world = World::new().await;
    world.server.run("alter table note no force row level security").await;
    let report = report(&world, world.server.app_options()).await;
    let text = report.to_string();
    assert!(
        text.contains("fatal[PG010]") && text.contains("ALTER TABLE \"public\".\"note\" FORCE ROW LEVEL SECURITY;"),
        "{text}"
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["current_user"], "app");
    let finding = json["findings"].as_array().unwrap().iter().find(|f| f["code"] == "PG010").unwrap();
    assert_eq!(finding["severity"], "fatal");

    // What a finding says mends it does.
    for finding in report.fatal() {
        world.server.run(&finding.fix).await;
    }
    assert_eq!(found(&world).await, []);
}

/// Migrations run as the owner and leave no connection behind.
#[tokio::test]
async fn migrations_run_as_the_owner_and_close_their_connection() {
    use sqlx::SqlSafeStr;
    use sqlx::migrate::{Migration, MigrationType, Migrator};
    let world = World::new().await;
    let declaration = Declaration::builder()
        .tenant_table(TenantTable::new("public", "note", "tenant_id", RowKeyType::Uuid).unwrap())
        .tenant_table(TenantTable::new("public", "added", "tenant_id", RowKeyType::Uuid).unwrap())
        .global_table("public", "country")
        .build()
        .unwrap();
    let make = format!(
        "create table added (tenant_id uuid not null);{}{}",
        policy_sql(&declaration),
        grant_sql(&declaration, APP)
    );
    let first = Migration::new(1, "first".into(), MigrationType::Simple, AssertSqlSafe(make).into_sql_str(), false);
    let good = Migrator::with_migrations(vec![first.clone()]);
    for _again in 0..2 {
        tenancy_pg::migrate(&good, world.server.owner_options()).await.unwrap();
    }
    let broken =
        Migration::new(2, "broken".into(), MigrationType::Simple, "select 'hunter2'::int".into_sql_str(), false);
    let bad = Migrator::with_migrations(vec![first, broken]);
    let error = tenancy_pg::migrate(&bad, world.server.owner_options()).await.unwrap_err();
    assert!(matches!(error, PgError::Migration(_)));
    assert!(!crate::common::shown(&error).contains("hunter2"));
    let sql = "select count(*) from pg_stat_activity where usename = 'own' and datname = current_database()";
    let mut left = 1;
    for _wait in 0..100 {
        left = crate::common::scalar(&world.server.superuser_options(), sql).await;
        if left == 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(left, 0, "a session ends soon after its connection");
    Database::open(world.tenants.realm(), world.options(), &declaration).await.unwrap();
}
