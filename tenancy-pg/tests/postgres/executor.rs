//! `&TenantDb` and `&mut TenantTx` in place of a pool and a transaction.

use futures_util::TryStreamExt;
use sqlx::{Executor, Row};
use tenancy_core::Denial;
use tenancy_pg::{Forbidden, OrNotVisible, PgError};

use crate::common::{ACME, GLOBEX, World, bodies, shown, smuggled};

#[tokio::test]
async fn each_tenant_sees_its_own_rows_through_every_kind_of_query() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    assert_eq!(bodies(&acme).await, ACME);
    assert_eq!(bodies(&globex).await, GLOBEX);
    assert_eq!(bodies(&acme).await, ACME, "on the connection that globex used");

    #[derive(sqlx::FromRow)]
    struct Note {
        id: i32,
        body: String,
    }
    let note: Note = sqlx::query_as("select id, body from note where id = $1").bind(2).fetch_one(&acme).await.unwrap();
    assert_eq!((note.id, note.body.as_str()), (2, "acme two"));

    let rows: Vec<_> = sqlx::query("select id from note order by id").fetch(&globex).try_collect().await.unwrap();
    assert_eq!(rows.iter().map(|row| row.get::<i32, _>(0)).collect::<Vec<_>>(), [3, 4, 5]);

    let mut builder = sqlx::QueryBuilder::new("select count(*) from note where id in (");
    builder.separated(", ").push_bind(1).push_bind(3);
    builder.push(")");
    let count: i64 = builder.build_query_scalar().fetch_one(&acme).await.unwrap();
    assert_eq!(count, 1, "one of the two is somebody else's");

    let prepared =
        (&acme).prepare(sqlx::SqlSafeStr::into_sql_str("select body from note where id = $1")).await.unwrap();
    let row = sqlx::Statement::query(&prepared).bind(1).fetch_one(&acme).await.unwrap();
    assert_eq!(row.get::<String, _>(0), "acme one");
    // What the macros ask at compile time.
    let described = (&acme).describe(sqlx::SqlSafeStr::into_sql_str("select id, body from note")).await.unwrap();
    assert_eq!(described.nullable(1), Some(false));
    let missing = sqlx::query("select 1 from note where id = 3").fetch_one(&acme).await;
    assert!(matches!(missing, Err(sqlx::Error::RowNotFound)));
}

#[tokio::test]
async fn writes_are_the_tenants_own_and_recorded_once_a_transaction() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;

    let foreign = sqlx::query("update note set body = 'x' where id = 3").execute(&acme).await.unwrap();
    assert_eq!(foreign.rows_affected(), 0);
    let own = sqlx::query("update note set body = 'changed' where id = 1").execute(&acme).await.unwrap();
    assert_eq!(own.rows_affected(), 1);

    let mut tx = acme.begin().await.unwrap();
    for id in [10, 11] {
        let sql = "insert into note (id, tenant_id, body) values ($1, $2, 'new')";
        sqlx::query(sql).bind(id).bind(world.life("acme").uuid()).execute(&mut tx).await.unwrap();
    }
    tx.commit().await.unwrap();
    let planted = sqlx::query("insert into note (id, tenant_id, body) values (12, $1, 'planted')")
        .bind(world.life("globex").uuid())
        .execute(&acme)
        .await
        .unwrap_err();
    assert_eq!(planted.as_database_error().unwrap().code().unwrap(), "42501");
    assert_eq!(world.rows_in_truth("body = 'planted'").await, 0);
    assert_eq!(world.rows_in_truth("body in ('new', 'changed')").await, 3);

    let mut rolled_back = acme.begin().await.unwrap();
    sqlx::query("delete from note").execute(&mut rolled_back).await.unwrap();
    rolled_back.rollback().await.unwrap();
    assert_eq!(bodies(&acme).await.len(), 4);

    let changes = world.tenants.audit().await.iter().filter(|record| record.outcome().as_str() == "changed").count();
    assert_eq!(changes, 2, "one for the update that found a row, one for the two inserts");
}

/// Closing is for the unclean only.
#[tokio::test]
async fn a_clean_connection_is_used_again() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    let pid = async || -> i32 { sqlx::query_scalar("select pg_backend_pid()").fetch_one(&globex).await.unwrap() };
    let first = pid().await;

    let mut tx = acme.begin().await.unwrap();
    for sql in ["select 1", "select body from note", "update note set body = body where id = 1"] {
        sqlx::query(sql).execute(&mut tx).await.unwrap();
    }
    tx.commit().await.unwrap();
    assert_eq!(pid().await, first, "committed");
    acme.begin().await.unwrap().rollback().await.unwrap();
    assert_eq!(pid().await, first, "rolled back");
    drop(acme.begin().await.unwrap());
    assert_eq!(pid().await, first, "dropped");
    drop(acme.read().await.unwrap());
    assert_eq!(pid().await, first, "read");
    assert!(sqlx::query("select 1/0").execute(&acme).await.is_err());
    assert_eq!(pid().await, first, "a statement of its own failed");
    let mut tx = acme.begin().await.unwrap();
    assert!(sqlx::query("select * from nowhere").execute(&mut tx).await.is_err());
    assert!(tx.commit().await.is_err());
    assert_eq!(pid().await, first, "committed after a failure");
    sqlx::query("select 1").fetch_one(&database.untenanted()).await.unwrap();
    assert_eq!(pid().await, first, "untenanted");
    sqlx::query(sqlx::AssertSqlSafe(smuggled("set local work_mem = '1MB'"))).execute(&acme).await.unwrap();
    assert_eq!(pid().await, first, "a local setting");

    sqlx::query(sqlx::AssertSqlSafe(smuggled("prepare mine as select 1"))).execute(&acme).await.unwrap();
    assert_ne!(pid().await, first, "not clean");
}

#[tokio::test]
async fn a_read_can_not_write() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let mut tx = acme.read().await.unwrap();
    let refused = sqlx::query("delete from note").execute(&mut tx).await.unwrap_err();
    assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "25006");
    drop(tx);
    assert_eq!(bodies(&acme).await, ACME);
    let mut tx = acme.read().await.unwrap();
    let count: i64 = sqlx::query_scalar("select count(*) from note").fetch_one(&mut tx).await.unwrap();
    assert_eq!(count, 2);
    tx.commit().await.unwrap();
    let outcomes: Vec<_> = world.tenants.audit().await.iter().map(|r| r.outcome().as_str()).collect();
    assert!(!outcomes.contains(&"changed") && !outcomes.contains(&"cancelled"), "{outcomes:?}");
}

#[tokio::test]
async fn only_one_statement_with_an_argument_list_is_taken() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.life("globex").uuid();
    let attack = format!("select 1; select set_config('tenancy.row_key', '{globex}', false)");

    let raw = sqlx::raw_sql("select body from note").fetch_all(&acme).await.unwrap_err();
    assert!(matches!(PgError::from(raw), PgError::SimpleProtocol));
    let bare = (&acme).execute("select 1").await.unwrap_err();
    assert!(matches!(PgError::from(bare), PgError::SimpleProtocol));
    let mut tx = acme.begin().await.unwrap();
    let raw = sqlx::raw_sql("commit").execute(&mut tx).await.unwrap_err();
    assert!(matches!(PgError::from(raw), PgError::SimpleProtocol));
    drop(tx);
    let two = sqlx::query(sqlx::AssertSqlSafe(attack)).execute(&acme).await.unwrap_err();
    assert!(matches!(PgError::from(two), PgError::Forbidden(Forbidden::Several)));
    let data = "'; select set_config('tenancy.row_key', '', false); --";
    let found: Option<i32> =
        sqlx::query_scalar("select id from note where body = $1").bind(data).fetch_optional(&acme).await.unwrap();
    assert_eq!(found, None, "a bind is data");
    assert_eq!(bodies(&acme).await, ACME);
}

#[tokio::test]
async fn a_missing_row_becomes_a_recorded_denial() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let body = |id: i32| sqlx::query_scalar::<_, String>("select body from note where id = $1").bind(id);
    assert_eq!(body(1).fetch_optional(&acme).await.unwrap().or_not_visible(&acme).unwrap(), "acme one");

    let foreign = body(3).fetch_optional(&acme).await.unwrap().or_not_visible(&acme).unwrap_err();
    let unknown = body(999).fetch_optional(&acme).await.unwrap().or_not_visible(&acme).unwrap_err();
    assert_eq!(shown(&foreign), shown(&unknown));
    assert_eq!(Denial::of(&foreign), Some(Denial::NotVisible));

    let mut tx = acme.begin().await.unwrap();
    let in_tx = body(3).fetch_optional(&mut tx).await.unwrap().or_not_visible(&tx).unwrap_err();
    assert_eq!(in_tx.denial(), Some(Denial::NotVisible));
    drop(tx);
    let denied: u64 =
        world.tenants.audit().await.iter().filter(|r| r.rule() == Some("scope.not_visible")).map(|r| r.count()).sum();
    assert_eq!(denied, 3);
}

/// What would be quoted is another tenant's, or the caller's own, value.
#[tokio::test]
async fn an_error_keeps_its_code_and_loses_its_text() {
    let world = World::new().await;
    world.server.run_as_owner("alter table note add constraint short check (length(body) < 40)").await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let own = world.life("acme").uuid();
    let secret = "hunter2";
    let insert = "insert into note (id, tenant_id, body, slug) values ($1, $2, $3, $4)";
    let long = format!("{secret} {}", "x".repeat(40));
    for (what, id, body, slug, code, constraint) in [
        ("unique violation with DETAIL", 20, secret, "a", "23505", Some("note_tenant_id_slug_key")),
        ("primary key of another tenant's row", 3, secret, "z", "23505", Some("note_pkey")),
        ("check violation with the failing row", 21, long.as_str(), "z", "23514", Some("short")),
    ] {
        let error = sqlx::query(insert).bind(id).bind(own).bind(body).bind(slug).execute(&acme).await.unwrap_err();
        let database = error.as_database_error().unwrap();
        assert_eq!(database.code().unwrap(), code, "{what}");
        assert_eq!(database.constraint(), constraint, "{what}");
        assert!(database.try_downcast_ref::<sqlx::postgres::PgDatabaseError>().is_none(), "{what}");
        let all = shown(&error) + &shown(&PgError::from(error));
        assert!(!all.contains(secret) && !all.contains("Key (") && !all.contains(&own.to_string()), "{what}: {all}");
    }
    for (what, sql) in [
        ("cast error that quotes its input", "select 'hunter2'::int"),
        ("column that does not exist", "select hunter2 from note"),
        ("syntax error that quotes its place", "select hunter2 hunter2 hunter2"),
        ("a function that does not exist", "select hunter2()"),
    ] {
        let error = sqlx::query(sql).execute(&acme).await.unwrap_err();
        let all = shown(&error) + &shown(&PgError::from(error));
        assert!(!all.contains(secret), "{what}: {all}");
    }
    let audit = world.tenants.audit().await;
    let outcomes: Vec<_> = audit.iter().map(|record| record.outcome().as_str()).collect();
    let failed: u64 = audit.iter().filter(|r| r.outcome().as_str() == "failed").map(|r| r.count()).sum();
    assert_eq!(failed, 7, "{outcomes:?}");
    assert!(!outcomes.contains(&"cancelled"), "{outcomes:?}");
}

#[tokio::test]
async fn global_tables_are_read_without_a_tenant_and_tenant_tables_show_nothing() {
    let world = World::new().await;
    let database = world.open().await;
    let globals = database.untenanted();
    let codes: Vec<String> =
        sqlx::query_scalar("select code from country order by code").fetch_all(&globals).await.unwrap();
    assert_eq!(codes, ["at", "ch"]);
    let notes: i64 = sqlx::query_scalar("select count(*) from note").fetch_one(&globals).await.unwrap();
    assert_eq!(notes, 0);
    assert_eq!(bodies(&world.scoped(&database, "globex").await).await, GLOBEX);

    for (what, sql, code) in [
        ("an update", "update note set body = 'x'", "25006"),
        ("a delete", "delete from country", "25006"),
        ("a lock", "select * from note for update", "25006"),
        ("an insert", "insert into country values ('de')", "25006"),
    ] {
        let error = sqlx::query(sql).execute(&globals).await.unwrap_err();
        assert_eq!(error.as_database_error().unwrap().code().unwrap(), code, "{what}");
    }
    let raw = sqlx::raw_sql("select 1").execute(&globals).await.unwrap_err();
    assert!(matches!(PgError::from(raw), PgError::SimpleProtocol));
    let sql = format!("select pretend('{}')", world.life("acme").uuid());
    let breach = sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&globals).await.unwrap_err();
    assert_eq!(Denial::of(&breach), Some(Denial::StoreBreach));
    let mut rules = world.tenants.denied_rules().await;
    rules.dedup();
    assert_eq!(rules, ["store.breach"], "each failed statement is on record too");
}

#[tokio::test]
async fn a_handle_works_in_a_spawned_task_and_many_run_at_once() {
    let world = World::new().await;
    let options = tenancy_pg::PgOptions::new(world.server.app_options()).max_connections(4);
    let database = tenancy_pg::Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for round in 0..60 {
        let tenant = if round % 2 == 0 { "acme" } else { "globex" };
        let mine = world.scoped(&database, tenant).await;
        tasks.spawn(async move {
            let mut tx = mine.begin().await.unwrap();
            let found: Vec<String> = sqlx::query_scalar("select body from note").fetch_all(&mut tx).await.unwrap();
            tokio::task::yield_now().await;
            assert!(found.iter().all(|body| body.starts_with(tenant)), "{found:?}");
            assert!(!found.is_empty());
            tx.commit().await.unwrap();
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}

#[tokio::test]
async fn contexts_of_elsewhere_are_refused() {
    let world = World::new().await;
    let database = world.open().await;
    let elsewhere = tenancy_testkit::TestTenants::new().await;
    let foreign = database.scoped(&elsewhere.context("acme").await).unwrap_err();
    assert_eq!(foreign.denial(), Some(Denial::ForeignRealm));

    let erased = world.tenants.context("globex").await;
    let handed_out = database.scoped(&erased).unwrap();
    assert_eq!(bodies(&handed_out).await, GLOBEX);
    world.tenants.erase("globex");
    let refused = handed_out.begin().await.unwrap_err();
    assert_eq!(refused.denial(), Some(Denial::TenantErased));
    let by_statement = sqlx::query("select 1").execute(&handed_out).await.unwrap_err();
    assert_eq!(Denial::of(&by_statement), Some(Denial::TenantErased));

    let region = tenancy_core::Region::parse("elsewhere").unwrap();
    let options = world.options().region(region);
    let far = tenancy_pg::Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
    let refused = far.scoped(&world.tenants.context("acme").await).unwrap_err();
    assert_eq!(refused.denial(), Some(Denial::WrongRegion));
}
