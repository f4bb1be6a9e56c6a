//! Generated migrations: run, run again, taken back, through sqlx's own migrator, in odd names.

use sqlx::migrate::Migrator;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use tenancy_pg::{
    Database, Declaration, Migration, PgError, Roles, RowKeyType, Run, TenantTable, erasure_sql, grant_sql, migrate,
    queue_sql, registrar_sql, signed_schema_sql,
};
use tenancy_testkit::{APP, OWNER, TestDatabase, TestTenants, ThrowawayPostgres};

use crate::catalog::{difference, dump};

async fn empty() -> TestDatabase {
    ThrowawayPostgres::shared().await.fresh_database().await
}

fn table(name: &str, key: RowKeyType) -> TenantTable {
    TenantTable::new("public", name, "tenant_id", key).unwrap()
}

/// Tables as a service's own migration has just made them.
async fn made(server: &TestDatabase, key: &str) {
    server
        .run_as_owner(&format!(
            "create table note (id int primary key, tenant_id {key} not null, body text);
             create table event (tenant_id {key} not null, id int, at date not null, primary key (tenant_id, id, at))
                 partition by range (at);
             create table event_26 partition of event for values from ('2026-01-01') to ('2027-01-01');
             create table event_27 partition of event for values from ('2027-01-01') to ('2028-01-01')
                 partition by hash (tenant_id);
             create table event_27_0 partition of event_27 for values with (modulus 1, remainder 0);
             create table country (code text primary key);"
        ))
        .await;
}

/// Every knob of the declaration: run once, run twice, taken back.
#[tokio::test]
async fn what_is_generated_can_be_run_twice_and_taken_back() {
    let both =
        |key| Declaration::builder().tenant_table(table("note", key)).tenant_table(table("event", key).partitioned());
    let cases: [(&str, RowKeyType, Declaration); 9] = [
        ("plain", RowKeyType::Uuid, both(RowKeyType::Uuid).build().unwrap()),
        ("a number for a key", RowKeyType::BigInt, both(RowKeyType::BigInt).build().unwrap()),
        ("a text for a key", RowKeyType::Text, both(RowKeyType::Text).build().unwrap()),
        ("a global table", RowKeyType::Uuid, both(RowKeyType::Uuid).global_table("public", "country").build().unwrap()),
        ("a registry", RowKeyType::Uuid, both(RowKeyType::Uuid).registry().build().unwrap()),
        ("a registry of numbers", RowKeyType::BigInt, both(RowKeyType::BigInt).registry().build().unwrap()),
        (
            "a floor",
            RowKeyType::Uuid,
            Declaration::builder().tenant_table(table("note", RowKeyType::Uuid).floor()).build().unwrap(),
        ),
        (
            "a legacy role and a report",
            RowKeyType::Uuid,
            both(RowKeyType::Uuid)
                .legacy_role("own", "2099-01-01", "the monolith")
                .report("public", "note", ["tenant_id"])
                .build()
                .unwrap(),
        ),
        ("another setting", RowKeyType::Uuid, both(RowKeyType::Uuid).setting("app.tenant").build().unwrap()),
    ];
    for (what, key, declaration) in cases {
        let server = empty().await;
        crate::common::plain_role(&server, "reports").await;
        made(&server, &format!("{key:?}")).await;
        let before = dump(&server).await;
        let roles = Roles::new(APP).report("reports").registrar("control");
        let migration = Migration::of(&declaration, &roles).unwrap();
        server.run_as_owner(&migration.up()).await;
        let once = dump(&server).await;
        assert!(difference(&before, &once).iter().any(|line| line.contains("policy tenancy_row_key on public.note")));
        server.run_as_owner(&migration.up()).await;
        assert_eq!(difference(&once, &dump(&server).await), [""; 0], "{what}: the second run changed something");
        let again = Migration::diff(server.owner_options(), &declaration, &roles).await.unwrap();
        assert!(again.is_empty(), "{what}: nothing is left to do\n{}", again.up());
        server.run_as_owner(&migration.down()).await;
        assert_eq!(difference(&before, &dump(&server).await), [""; 0], "{what}: not taken back");
    }
}

/// A migration that has looked at no database can't change keys. It fails where they are not as declared.
#[tokio::test]
async fn keys_that_are_declared_to_be_led_by_the_row_key_must_be() {
    let led =
        |name| Declaration::builder().tenant_table(table(name, RowKeyType::Uuid).composite_keys()).build().unwrap();
    for (what, more, refused) in [
        ("led", "", None),
        ("another one that is led", "create unique index on t (tenant_id, code)", None),
        ("one that is not unique", "create index on t (code)", None),
        ("a unique index", "create unique index its on t (code)", Some("the key its of")),
        ("of an expression", "create unique index its on t (lower(code))", Some("the key its of")),
        (
            "of some rows",
            "create unique index \"its index\" on t (code) where id > 0",
            Some("the key \"its index\" of"),
        ),
        ("a constraint", "alter table t add constraint its unique (id)", Some("the key its of")),
        ("beside it only", "create unique index its on t (code) include (tenant_id)", Some("the key its of")),
        (
            "in it and not in front",
            "alter table t drop constraint t_pkey, add primary key (id, tenant_id)",
            Some("is led by the tenant column"),
        ),
        ("none", "alter table t drop constraint t_pkey", Some("is led by the tenant column")),
        (
            "in front of some rows",
            "alter table t drop constraint t_pkey; create index on t (tenant_id) where id > 0",
            Some("is led by the tenant column"),
        ),
    ] {
        let server = empty().await;
        server
            .run_as_owner("create table t (tenant_id uuid not null, id int, code text, primary key (tenant_id, id))")
            .await;
        server.run_as_owner(more).await;
        let migration = Migration::of(&led("t"), &Roles::new(APP)).unwrap();
        let mut owner = PgConnection::connect_with(&server.owner_options()).await.unwrap();
        let ran = sqlx::raw_sql(AssertSqlSafe(migration.up())).execute(&mut owner).await;
        let said = ran.err().map(|error| error.as_database_error().unwrap().message().to_owned());
        match refused {
            None => assert_eq!(said, None, "{what}"),
            Some(refused) => assert!(said.as_ref().is_some_and(|said| said.contains(refused)), "{what}: {said:?}"),
        }
    }

    // A partitioned table's keys are its own; and what is right once is right again.
    let server = empty().await;
    made(&server, "uuid").await;
    let event = table("event", RowKeyType::Uuid).partitioned().composite_keys();
    let declaration = Declaration::builder().tenant_table(event).build().unwrap();
    let migration = Migration::of(&declaration, &Roles::new(APP)).unwrap();
    for _twice in 0..2 {
        server.run_as_owner(&migration.up()).await;
    }
    let left = Migration::diff(server.owner_options(), &declaration, &Roles::new(APP)).await.unwrap();
    assert!(left.is_empty(), "{}", left.up());
}

/// Through the folder that `sqlx::migrate!` reads, up and down.
#[tokio::test]
async fn sqlx_runs_the_files() {
    let server = empty().await;
    made(&server, "uuid").await;
    let declaration = Declaration::builder()
        .tenant_table(table("note", RowKeyType::Uuid))
        .tenant_table(table("event", RowKeyType::Uuid).partitioned())
        .registry()
        .global_table("public", "country")
        .build()
        .unwrap();
    let before = dump(&server).await;
    let files = Migration::of(&declaration, &Roles::new(APP)).unwrap().files(20_270_101_000_000, "tenancy");
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["20270101000000_tenancy.up.sql", "20270101000000_tenancy.down.sql"]);
    let folder = tempfile(&files);
    let migrator = Migrator::new(folder.as_path()).await.unwrap();
    for _again in 0..2 {
        migrate(&migrator, server.owner_options()).await.unwrap();
    }
    let left = Migration::diff(server.owner_options(), &declaration, &Roles::new(APP)).await.unwrap();
    assert!(left.is_empty(), "{}", left.up());

    let mut owner = PgConnection::connect_with(&server.owner_options()).await.unwrap();
    migrator.undo(&mut owner, 0).await.unwrap();
    sqlx::query("drop table _sqlx_migrations").execute(&mut owner).await.unwrap();
    owner.close().await.unwrap();
    assert_eq!(difference(&before, &dump(&server).await), [""; 0]);
    std::fs::remove_dir_all(folder).unwrap();
}

pub(crate) fn tempfile(files: &[tenancy_pg::MigrationFile]) -> std::path::PathBuf {
    static PLACE: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let place = PLACE.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("tenancy-migrations-{}-{place}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for file in files {
        std::fs::write(folder.join(&file.name), &file.text).unwrap();
    }
    folder
}

/// P17 and relatives, in every place that a migration has a name in: run, judged by the inspection, compared, taken back.
#[tokio::test]
async fn a_name_is_only_a_name() {
    let tenants = TestTenants::new().await;
    let (own, foreign) = (tenants.life("acme").uuid(), tenants.life("globex").uuid());
    for (what, schema, name, column) in [
        ("a double quote", "we\"ird", "ta\"ble", "co\"l"),
        ("single quotes", "it's", "o'clock", "'"),
        ("spaces", "my schema", " two  spaces ", "tenant id"),
        ("upper case", "Schema", "Table", "Tenant_ID"),
        ("other scripts", "схема", "表", "größe"),
        ("keywords", "user", "select", "table"),
        ("the start of a comment", "a--", "b/*", "c--"),
        ("the end of a statement", "a;b", "; drop table x; --", ";"),
        ("dollars", "$$", "$tenancy$", "$1"),
        ("backslashes", "back\\slash", "a\\'b", "\\"),
        ("per cent signs", "50%", "%s", "%1$I"),
        ("the place of a partition", "%1$s", "a %1$s", "%1$s"),
        ("ends of lines", "a\nb", "c\r\n; drop table x; --", "d\n"),
        ("sixty-three bytes", &"s".repeat(63), &"t".repeat(63), &"c".repeat(63)),
        ("sixty-three bytes of two each", &"ä".repeat(31), &"ö".repeat(31), &"ü".repeat(31)),
        ("braces and dots", "a.b", "{}.{0}", "{table}"),
    ] {
        let server = empty().await;
        let q = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let full = format!("{}.{}", q(schema), q(name));
        let column_sql = q(column);
        server
            .run_as_owner(&format!(
                "create schema {}; create table {full} ({column_sql} uuid not null, id int, email text)
                     partition by hash ({column_sql});
                 create table {}.\"part %1$s ' \"\" 0\" partition of {full} for values with (modulus 1, remainder 0);
                 create table x (y int); insert into {full} values ('{own}', 1), ('{foreign}', 2)",
                q(schema),
                q(schema)
            ))
            .await;
        let declaration = Declaration::builder()
            .tenant_table(TenantTable::new(schema, name, column, RowKeyType::Uuid).unwrap().partitioned())
            .build()
            .unwrap();
        let before = dump(&server).await;
        let migration = Migration::of(&declaration, &Roles::new(APP)).unwrap();
        for _again in 0..2 {
            server.run_as_owner(&migration.up()).await;
        }
        let left = Migration::diff(server.owner_options(), &declaration, &Roles::new(APP)).await.unwrap();
        assert!(left.is_empty(), "{what}: {}", left.up());
        let options = tenancy_pg::PgOptions::new(server.app_options());
        let database = Database::open(tenants.realm(), options, &declaration).await.unwrap_or_else(|e| match e {
            PgError::Inspection(report) => panic!("{what}: {report}"),
            other => panic!("{what}: {other}"),
        });
        let mine = database.scoped(&tenants.context("acme").await).unwrap();
        let select = format!("select id from {full} where {}", declaration.tenant_tables()[0].row_key_is(1));
        for (key, seen) in [(own, vec![1]), (foreign, vec![])] {
            let rows: Vec<i32> =
                sqlx::query_scalar(AssertSqlSafe(select.clone())).bind(key).fetch_all(&mine).await.unwrap();
            assert_eq!(rows, seen, "{what}");
        }
        server.run_as_owner(&migration.down()).await;
        assert_eq!(difference(&before, &dump(&server).await), [""; 0], "{what}");
    }
}

/// The single text is for one transaction: nothing in it needs to be alone.
#[tokio::test]
async fn everything_that_is_generated_at_once_shares_a_transaction() {
    let declaration = Declaration::builder().tenant_table(table("note", RowKeyType::Uuid)).registry().build().unwrap();
    let migration = Migration::of(&declaration, &Roles::new(APP)).unwrap();
    assert!(migration.steps().iter().all(|step| step.run == Run::InTransaction));
    let server = empty().await;
    made(&server, "uuid").await;
    let before = dump(&server).await;
    server.run_as_owner(&format!("begin; {} rollback", migration.up())).await;
    assert_eq!(difference(&before, &dump(&server).await), [""; 0]);
}

/// What SQL for a role is about, and how it is made.
type Kind<'a> = (&'a str, &'a dyn Fn(&str) -> String);

/// The server takes a quoted `"public"` for everybody. Whoever is asked for a role and gets that has been told nothing.
#[tokio::test]
async fn everybody_is_no_role() {
    let server = empty().await;
    made(&server, "uuid").await;
    crate::common::plain_role(&server, "reports").await;
    let signed = Declaration::builder().tenant_table(table("note", RowKeyType::Uuid)).signed().build().unwrap();
    let plain = Declaration::builder().tenant_table(table("note", RowKeyType::Uuid)).registry();
    let plain = plain.report("public", "note", ["tenant_id"]).build().unwrap();
    let kinds: [Kind<'_>; 10] = [
        ("the schema of signed mode, its caller", &|role| signed_schema_sql(&signed, OWNER, &[role])),
        ("the schema of signed mode, its owner", &|role| signed_schema_sql(&signed, role, &[])),
        ("the keeper of the registry", &registrar_sql),
        ("rights", &|role| grant_sql(&plain, role)),
        ("a migration", &|role| Migration::of(&plain, &Roles::new(role)).unwrap().up()),
        ("a migration, who reads reports", &|role| Migration::of(&plain, &Roles::new(APP).report(role)).unwrap().up()),
        ("a migration, who keeps the registry", &|role| {
            Migration::of(&plain, &Roles::new(APP).registrar(role)).unwrap().up()
        }),
        ("the queue, who fills it", &|role| queue_sql(&plain, role, APP)),
        ("the queue, who empties it", &|role| queue_sql(&plain, APP, role)),
        ("who erases", &|role| erasure_sql(&plain, role)),
    ];
    let mut connection = PgConnection::connect_with(&server.superuser_options()).await.unwrap();
    for (what, sql) in kinds {
        for (role, is_one) in [("reports", true), ("public", false), ("none", false)] {
            let ran = sqlx::raw_sql(AssertSqlSafe(format!("begin; {}; ", sql(role)))).execute(&mut connection).await;
            let end = if is_one { "commit" } else { "rollback" };
            sqlx::raw_sql(end).execute(&mut connection).await.unwrap();
            let code = ran.err().map(|e| e.into_database_error().unwrap().code().unwrap().into_owned());
            assert_eq!(code.as_deref(), (!is_one).then_some("42704"), "{what}: {role}");
        }
    }
    for role in ["public", "none"] {
        let declared = Declaration::builder().legacy_role(role, "2099-01-01", "the monolith").build();
        assert!(declared.unwrap_err().to_string().contains("is no role"), "{role}");
    }
}
