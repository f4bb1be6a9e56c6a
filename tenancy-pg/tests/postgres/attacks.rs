//! What a statement of one tenant may try to leave behind for the next, on a pool of one.

use std::time::{Duration, SystemTime};

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgQueryResult;
use tenancy_core::{Denial, Life, RowKey, TenantId, TenantRecord};
use tenancy_pg::{
    Database, Declaration, Inspected, RowKeyType, TenantDb, TenantTable, TenantTx, danger, grant_sql, policy_sql,
};
use tenancy_testkit::APP;

use crate::common::{ACME, GLOBEX, World, bodies, scalar, smuggled};

/// How the transaction of an attack ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Commit,
    Rollback,
    Drop,
}

/// Whether the attack is found out at the commit, or only cleaned away.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Expect {
    Breach,
    Cleaned,
    Refused,
}

/// The listed attack is the first; each other one goes another way.
const ATTACKS: &[(&str, &[&str], Expect)] = &[
    ("the setting, for the session", &["select set_config('tenancy.row_key', '{victim}', false)"], Expect::Breach),
    ("the setting, for the transaction", &["select set_config('tenancy.row_key', '{victim}', true)"], Expect::Breach),
    (
        "the setting for the session, under the own one for the transaction",
        &["select set_config('tenancy.row_key', '{victim}', false), set_config('tenancy.row_key', '{own}', true)"],
        Expect::Cleaned,
    ),
    ("SET SESSION", &["set session \"tenancy.row_key\" = '{victim}'"], Expect::Breach),
    ("in another case", &["select set_config('TENANCY.Row_Key', '{victim}', false)"], Expect::Breach),
    ("RESET", &["reset \"tenancy.row_key\""], Expect::Breach),
    ("RESET ALL", &["reset all"], Expect::Breach),
    (
        "inside a DO block",
        &["do $$ begin perform set_config('tenancy.row_key', '{victim}', false); end $$"],
        Expect::Breach,
    ),
    ("COMMIT", &["commit"], Expect::Breach),
    (
        "COMMIT, then a transaction of its own",
        &["commit", "begin", "set local \"tenancy.row_key\" = '{victim}'"],
        Expect::Breach,
    ),
    (
        "COMMIT, then a transaction of its own in the own scope",
        &["commit", "begin", "set local \"tenancy.row_key\" = '{own}'"],
        Expect::Breach,
    ),
    ("COMMIT, then the setting for the session", &["commit", "set \"tenancy.row_key\" = '{victim}'"], Expect::Breach),
    ("ROLLBACK", &["rollback"], Expect::Breach),
    ("ROLLBACK AND CHAIN", &["rollback and chain"], Expect::Breach),
    ("SET ROLE", &["set role {other}"], Expect::Cleaned),
    ("SET ROLE for the transaction", &["set local role {other}"], Expect::Cleaned),
    ("the role as a setting", &["select set_config('role', '{other}', false)"], Expect::Cleaned),
    ("a search path", &["set search_path = pg_temp, public"], Expect::Cleaned),
    ("a read-only session", &["set default_transaction_read_only = on"], Expect::Cleaned),
    ("session characteristics", &["set session characteristics as transaction read only"], Expect::Cleaned),
    ("a time-out of a millisecond", &["set session statement_timeout = 1"], Expect::Cleaned),
    ("row_security", &["set row_security = off"], Expect::Cleaned),
    (
        "a temporary table in front of the real one",
        &["create temp table note as select 1 as id, 'stolen' as body"],
        Expect::Cleaned,
    ),
    (
        "a temporary view in front of the real one",
        &["create temp view note as select 1 as id, 'stolen' as body"],
        Expect::Cleaned,
    ),
    ("a prepared statement", &["prepare mine as select 1"], Expect::Cleaned),
    (
        "the driver's own prepared statements, each swapped for another",
        &["do $$ declare s record; begin
                for s in select name from pg_prepared_statements loop
                    execute format('deallocate %I', s.name);
                    execute format('prepare %I as select 1 as id, ''stolen'' as body', s.name);
                end loop; end $$"],
        Expect::Cleaned,
    ),
    ("the driver's prepared statements, gone", &["deallocate all"], Expect::Cleaned),
    (
        "a cursor that outlives its transaction",
        &["declare kept cursor with hold for select * from note"],
        Expect::Cleaned,
    ),
    ("a lock of the session", &["select pg_advisory_lock(42)"], Expect::Cleaned),
    ("LISTEN", &["listen channel"], Expect::Cleaned),
    ("a seed", &["select setseed(0.25)"], Expect::Cleaned),
    ("a sequence's last value", &["create temp sequence s", "select nextval('s')"], Expect::Cleaned),
    ("DISCARD ALL", &["discard all"], Expect::Refused),
    ("SET SESSION AUTHORIZATION", &["set session authorization postgres"], Expect::Refused),
    ("switching row level security off", &["alter table note disable row level security"], Expect::Refused),
    ("another policy", &["create policy mine on note using (true)"], Expect::Refused),
];

#[tokio::test]
async fn nothing_of_an_attack_reaches_the_next_borrower() {
    let world = World::new().await;
    let other = format!("other_{}", world.server.name());
    world
        .server
        .run(&format!(
            "create role {other}; grant {other} to app; grant temporary on database {} to app",
            world.server.name()
        ))
        .await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    for (what, statements, expect) in ATTACKS {
        for end in [End::Commit, End::Rollback, End::Drop] {
            let what = format!("{what}, {end:?}");
            // The driver's statements are prepared before the attack, so that there is something to swap.
            assert_eq!(bodies(&acme).await, ACME, "{what}: before");
            let mut tx = acme.begin().await.unwrap();
            let mut refused = false;
            for sql in *statements {
                let sql = sql
                    .replace("{victim}", &world.life("globex").uuid().to_string())
                    .replace("{own}", &world.life("acme").uuid().to_string())
                    .replace("{other}", &other);
                refused |= past_the_guard(&mut tx, statements[0], &sql).await.is_err();
            }
            assert_eq!(refused, *expect == Expect::Refused, "{what}");
            let breach = match end {
                End::Commit => tx.commit().await.err().and_then(|e| e.denial()) == Some(Denial::StoreBreach),
                End::Rollback => tx.rollback().await.err().and_then(|e| e.denial()) == Some(Denial::StoreBreach),
                End::Drop => {
                    drop(tx);
                    false
                }
            };
            assert_eq!(breach, *expect == Expect::Breach && !matches!(end, End::Drop), "{what}");
            next_is_clean(&world, &database, &globex, &what).await;
        }
    }
    // The ends behind the scenes are on record too.
    let breaches: u64 =
        world.tenants.audit().await.iter().filter(|r| r.rule() == Some("store.breach")).map(|r| r.count()).sum();
    let expected = ATTACKS.iter().filter(|(_, _, expect)| *expect == Expect::Breach).count() as u64 * 3;
    assert_eq!(breaches, expected);
    world.server.run(&format!("drop role {other}")).await;
}

/// Transaction control goes over the raw connection, which is closed afterwards; everything else into a function.
async fn past_the_guard(tx: &mut TenantTx<'_>, first: &str, sql: &str) -> sqlx::Result<PgQueryResult> {
    if first.starts_with("commit") || first.starts_with("rollback") {
        let connection = danger::connection(tx, "the guard would refuse").await.unwrap();
        return sqlx::query(AssertSqlSafe(sql)).execute(connection).await;
    }
    sqlx::query(AssertSqlSafe(smuggled(sql))).execute(tx).await
}

async fn next_is_clean(world: &World, database: &Database<Inspected>, globex: &TenantDb, what: &str) {
    assert_eq!(bodies(globex).await, GLOBEX, "{what}");
    let mut tx = globex.begin().await.unwrap();
    let session: String = sqlx::query_scalar(
        "select concat_ws(' ', current_user, current_setting('search_path'), current_setting('row_security'),
                          current_setting('transaction_read_only'), current_setting('statement_timeout'),
                          (select count(*) from pg_prepared_statements where from_sql),
                          (select count(*) from pg_cursors where name <> ''),
                          (select count(*) from pg_listening_channels()), pg_my_temp_schema())",
    )
    .fetch_one(&mut tx)
    .await
    .unwrap();
    assert_eq!(session, "app \"public\", pg_temp on off 30s 0 0 0 0", "{what}");
    let last = sqlx::query("select lastval()").execute(&mut tx).await.unwrap_err();
    assert_eq!(last.as_database_error().unwrap().code().unwrap(), "55000", "{what}");
    drop(tx);
    let nobody: i64 = sqlx::query_scalar("select count(*) from note").fetch_one(&database.untenanted()).await.unwrap();
    assert_eq!(nobody, 0, "{what}");
    let free = scalar(
        &world.server.superuser_options(),
        "select (pg_try_advisory_lock(42) and pg_advisory_unlock(42))::int::bigint",
    )
    .await;
    assert_eq!(free, 1, "{what}");
}

/// A name that comes back after an erasure is a new life: rows of the old one are not its.
#[tokio::test]
async fn a_reused_name_does_not_see_the_rows_of_the_life_before() {
    let world = World::new().await;
    let database = world.open().await;
    let before = world.life("globex");
    world.tenants.erase("globex");
    let issuer = world.tenants.issuer().issuer().to_owned();
    let born = SystemTime::now() - Duration::from_secs(60);
    let name = TenantId::parse("globex").unwrap();
    let record = TenantRecord::new(name, Life::random(), born).claim(&issuer, "globex");
    world.tenants.directory().add(record).unwrap();

    assert_ne!(world.life("globex"), before);
    let again = world.scoped(&database, "globex").await;
    assert_eq!(bodies(&again).await, Vec::<String>::new());
    let updated = sqlx::query("update note set body = 'x' where tenant_id = $1")
        .bind(before.uuid())
        .execute(&again)
        .await
        .unwrap();
    assert_eq!(updated.rows_affected(), 0);
    let insert = sqlx::query("insert into note values (60, $1, 'x')").bind(before.uuid()).execute(&again).await;
    assert_eq!(insert.unwrap_err().as_database_error().unwrap().code().unwrap(), "42501");
    assert_eq!(world.rows_in_truth(&format!("tenant_id = '{}'", before.uuid())).await, 3);
}

/// Adopted schemas: keys of other types, and a key that does not fit is refused before anything is asked.
#[tokio::test]
async fn row_keys_of_every_type_keep_tenants_apart() {
    let world = World::new().await;
    let issuer = world.tenants.issuer().issuer().to_owned();
    let born = SystemTime::now() - Duration::from_secs(60);
    let keys = [
        ("number-one", RowKey::BigInt(1)),
        ("number-minus", RowKey::BigInt(-1)),
        ("number-least", RowKey::BigInt(i64::MIN)),
        ("text-one", RowKey::Text(TenantId::parse("one").unwrap())),
        ("text-upper", RowKey::Text(TenantId::parse("ONE").unwrap())),
        ("text-long", RowKey::Text(TenantId::parse(&"o".repeat(128)).unwrap())),
    ];
    for (name, key) in &keys {
        let record = TenantRecord::new(TenantId::parse(name).unwrap(), Life::random(), born).row_key_of(key.clone());
        world.tenants.directory().add(record.claim(&issuer, name)).unwrap();
    }
    for (prefix, key_type, sql_type) in [("number", RowKeyType::BigInt, "bigint"), ("text", RowKeyType::Text, "text")] {
        let table = format!("thing_{prefix}");
        let declaration = Declaration::builder()
            .tenant_table(TenantTable::new("public", &table, "owner", key_type).unwrap())
            .build()
            .unwrap();
        world.server.run_as_owner(&format!("create table {table} (owner {sql_type} not null, body text)")).await;
        world.server.run_as_owner(&policy_sql(&declaration)).await;
        world.server.run(&format!("revoke all on note, country from {APP}")).await;
        world.server.run_as_owner(&grant_sql(&declaration, APP)).await;
        let database = Database::open(world.tenants.realm(), world.options(), &declaration).await.unwrap();
        let insert = format!("insert into {table} values (current_setting('tenancy.row_key')::{sql_type}, $1)");
        let select = format!("select body from {table}");
        let of_type = || keys.iter().filter(|(name, _)| name.starts_with(prefix));
        for (name, _) in of_type() {
            let mine = world.scoped(&database, name).await;
            sqlx::query(AssertSqlSafe(insert.as_str())).bind(name).execute(&mine).await.unwrap();
        }
        for (name, _) in of_type() {
            let mine = world.scoped(&database, name).await;
            let seen: Vec<String> = sqlx::query_scalar(AssertSqlSafe(select.as_str())).fetch_all(&mine).await.unwrap();
            assert_eq!(seen, [*name]);
        }
        let unfit = database.scoped(&world.tenants.context("acme").await).unwrap_err();
        assert!(matches!(unfit, tenancy_pg::PgError::RowKeyType));
        world.server.run(&format!("revoke all on {table} from {APP}")).await;
    }
}
