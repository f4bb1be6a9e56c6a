//! P20: an owner under FORCE sees no row. P19: a table of many partitions is planned by its row key.

use sqlx::migrate::Migrator;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor, Row};
use tenancy_core::RowKey;
use tenancy_pg::{
    Declaration, Migration, PgError, Roles, RowKeyType, TenantTable, data_migration_sql, migrate, migrate_data,
};
use tenancy_testkit::{APP, ThrowawayPostgres};

use crate::common::World;

/// One migration after the others that the database has.
async fn run(world: &World, sql: &str) -> Result<(), PgError> {
    let folder = std::env::temp_dir().join(format!("tenancy-data-{}-{}", std::process::id(), world.server.name()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("1_data.sql"), sql).unwrap();
    let migrator = Migrator::new(folder.as_path()).await.unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    migrate(&migrator, world.server.owner_options()).await
}

/// P20 and relatives: what would succeed and change nothing fails.
#[tokio::test]
async fn a_migration_that_sees_no_row_is_told_so() {
    for (what, sql) in [
        ("an update", "update note set body = upper(body)"),
        ("a delete", "delete from note where slug = 'a'"),
        ("a copy into a global table", "insert into country select distinct slug from note where slug is not null"),
        ("a table made of it", "create table copy as select * from note"),
        ("a merge", "merge into note using country on slug = code when matched then delete"),
        ("a column filled from another", "alter table note add words int; update note set words = 1"),
        ("a comparison that decides", "create table t (n bigint); insert into t select count(*) from note"),
        ("a block of code", "do $$ begin update note set body = 'x'; end $$"),
        ("through a view of the owner's", "create view v as select * from note; update v set body = 'x'"),
        (
            "a foreign key whose check would see nothing",
            "create table child (id int, tenant_id uuid); insert into child values (99, gen_random_uuid());
             alter table child add foreign key (id) references note (id)",
        ),
    ] {
        let world = World::new().await;
        let refused = run(&world, sql).await.unwrap_err();
        if what.starts_with("a foreign key") {
            assert!(matches!(refused, PgError::Migration(_) | PgError::MigrationHeld), "{what}: {refused:?}");
        } else {
            assert!(matches!(refused, PgError::MigrationHeld), "{what}: {refused:?}");
        }
        assert_eq!(world.rows_in_truth("body ~ '^(acme|globex)' and slug is not null").await, 5, "{what}");
        run(&world, "insert into country values ('de'); alter table note add column fine int").await.unwrap();
    }

    // As a connection without it: it succeeds, and nothing happened.
    let world = World::new().await;
    world.server.run_as_owner("update note set body = upper(body)").await;
    assert_eq!(world.rows_in_truth("body = upper(body)").await, 0);
}

/// What to write instead.
#[tokio::test]
async fn data_is_migrated_and_one_that_touches_no_row_fails() {
    let world = World::new().await;
    let note = &world.declaration.tenant_tables()[0];
    for (what, statement, condition) in [
        ("an update", "UPDATE note SET body = upper(body);", "body = upper(body)"),
        ("with an end of comment", "UPDATE note SET body = 'a -- b' -- really", "body = 'a -- b'"),
        ("with a query of its own", "WITH x AS (SELECT 'c' AS c) UPDATE note SET body = c FROM x", "body = 'c'"),
    ] {
        run(&world, &data_migration_sql([note], statement)).await.unwrap();
        assert_eq!(world.rows_in_truth(condition).await, 5, "{what}");
        world.server.run("drop table _sqlx_migrations").await;
    }
    let before = crate::catalog::dump(&world.server).await;
    let touched_none = run(&world, &data_migration_sql([note], "UPDATE note SET body = '' WHERE id = 0")).await;
    assert!(matches!(touched_none.unwrap_err(), PgError::Migration(_)));
    world.server.run("drop table _sqlx_migrations").await;
    assert_eq!(crate::catalog::dump(&world.server).await, before, "FORCE is back");

    let keys = |names: &[&str]| -> Vec<RowKey> { names.iter().map(|n| RowKey::Uuid(world.life(n).uuid())).collect() };
    let owner = || world.server.owner_options();
    let one = "update note set body = 'one' where id = 1";
    for (what, tenants, statement, touched) in [
        ("all tenants", keys(&["acme", "globex"]), "update note set body = 'all'", Some(5)),
        ("one", keys(&["globex"]), "update note set body = 'one'", Some(3)),
        ("a row of one of them", keys(&["acme", "globex"]), one, Some(1)),
        ("another's row", keys(&["globex"]), one, None),
        ("nobody", Vec::new(), "update note set body = 'nobody'", None),
        ("no row", keys(&["acme"]), "delete from note where false", None),
    ] {
        let ran = migrate_data(owner(), &world.declaration, &tenants, statement).await;
        match touched {
            Some(rows) => assert_eq!(ran.unwrap(), rows, "{what}"),
            None => assert!(matches!(ran, Err(PgError::NoRowTouched)), "{what}"),
        }
    }
    let other = migrate_data(owner(), &world.declaration, &[RowKey::BigInt(1)], "delete from note").await;
    assert!(matches!(other, Err(PgError::RowKeyType)));
}

/// P19 and relatives: with the row key named, one partition is planned and locked, without it all of them.
#[tokio::test]
async fn a_statement_that_names_the_row_key_plans_one_partition_of_500() {
    let server = ThrowawayPostgres::shared().await.fresh_database().await;
    server
        .run_as_owner(
            "create table event (tenant_id bigint not null, id int not null, body text, primary key (tenant_id, id))
                 partition by list (tenant_id);
             create table detail (tenant_id bigint not null, event_id int, primary key (tenant_id, event_id));
             do $$ begin for i in 1..500 loop
                 execute format('create table event_%s partition of event for values in (%s)', i, i);
             end loop; end $$;
             insert into event select i, 1, 'x' from generate_series(1, 500) i;
             insert into detail select i, 1 from generate_series(1, 500) i;",
        )
        .await;
    let event = TenantTable::new("public", "event", "tenant_id", RowKeyType::BigInt).unwrap().partitioned();
    let detail = TenantTable::new("public", "detail", "tenant_id", RowKeyType::BigInt).unwrap();
    let declaration = Declaration::builder().tenant_table(event.clone()).tenant_table(detail).build().unwrap();
    server.run_as_owner(&Migration::of(&declaration, &Roles::new(APP)).unwrap().up()).await;
    let mut app = PgConnection::connect_with(&server.app_options()).await.unwrap();
    let named = event.row_key_is(1);
    for (what, statement) in [
        ("a read by key", "select * from event where id = 1 and {named}"),
        ("a read of all", "select * from event where {named}"),
        ("an update", "update event set body = 'y' where id = 1 and {named}"),
        ("a delete", "delete from event where id = 2 and {named}"),
        ("a join", "select * from detail join event on event_id = id where {named}"),
        ("a count", "select count(*) from event where {named}"),
        ("in a query of its own", "with e as materialized (select * from event where {named}) select * from e"),
    ] {
        for (condition, few) in
            [(named.replace("\"tenant_id\"", "event.\"tenant_id\""), true), ("$1::bigint > 0".to_owned(), false)]
        {
            let sql = statement.replace("{named}", &condition);
            app.execute("begin; set local \"tenancy.row_key\" = '7'").await.unwrap();
            let rows = sqlx::query(AssertSqlSafe(sql.clone())).persistent(false).bind(7_i64).fetch_all(&mut app).await;
            rows.unwrap();
            let locks: i64 = sqlx::query_scalar(PARTITIONS).persistent(false).fetch_one(&mut app).await.unwrap();
            let plan = format!("explain (summary) {}", sql.replace("$1", "7"));
            let last = app.fetch_all(AssertSqlSafe(plan)).await.unwrap();
            let planning: String = last.last().unwrap().get(0);
            app.execute("rollback").await.unwrap();
            println!("{what}, {}: {locks} partitions locked, {planning}", if few { "named" } else { "not named" });
            assert_eq!(locks, if few { 1 } else { 500 }, "{what}: {sql}");
        }
    }
}

const PARTITIONS: &str = "select count(distinct relation) from pg_locks join pg_class c on c.oid = relation
    where pid = pg_backend_pid() and c.relispartition and c.relkind = 'r'";
