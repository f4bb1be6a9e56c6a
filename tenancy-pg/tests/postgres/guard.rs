//! The statement guard: what it refuses through every way in, and that it reads a text as the server does.

use futures_util::TryStreamExt;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Column, Connection, Executor, Row, SqlSafeStr};
use tenancy_pg::{Forbidden, PgError, danger};

use crate::common::{ACME, GLOBEX, World, bodies};

impl World {
    async fn refused_by_the_guard(&self) -> u64 {
        let records = self.tenants.audit().await;
        let refused = records.iter().filter(|r| r.rule() == Some("pg.guard"));
        refused.inspect(|r| assert_eq!(r.outcome().as_str(), "failed")).map(|r| r.count()).sum()
    }
}

/// Each first keyword that a server of 15 to 18 knows and the guard does not admit, and each way to spell the names.
const REFUSED: &[(&str, Forbidden)] = &[
    ("begin", Forbidden::Transaction),
    ("start transaction", Forbidden::Transaction),
    ("commit", Forbidden::Transaction),
    ("end", Forbidden::Transaction),
    ("rollback", Forbidden::Transaction),
    ("abort", Forbidden::Transaction),
    ("savepoint a", Forbidden::Transaction),
    ("release a", Forbidden::Transaction),
    ("commit prepared 'x'", Forbidden::Transaction),
    ("set search_path = pg_temp", Forbidden::Session),
    ("set local \"tenancy.row_key\" = ''", Forbidden::Session),
    ("set session authorization default", Forbidden::Session),
    ("set transaction read write", Forbidden::Session),
    ("set constraints all immediate", Forbidden::Session),
    ("reset role", Forbidden::Session),
    ("discard all", Forbidden::Session),
    ("load 'auto_explain'", Forbidden::Session),
    ("select set_config('a.b', '', true)", Forbidden::Session),
    ("select pg_catalog . Set_Config('a.b', '', true)", Forbidden::Session),
    ("select \"set_config\"('a.b', '', true)", Forbidden::Session),
    ("select U&\"\\0073et_config\"('a.b', '', true)", Forbidden::Unreadable),
    ("select 1 where exists (select from set_config('a.b', '', true))", Forbidden::Session),
    ("update pg_settings set setting = 'x' where name = 'search_path'", Forbidden::Session),
    ("prepare a as select 1", Forbidden::Prepared),
    ("execute a", Forbidden::Prepared),
    ("explain select 1", Forbidden::Plan),
    ("EXPLAIN (analyze, costs off) update note set body = 'x'", Forbidden::Plan),
    ("explain analyze execute a", Forbidden::Plan),
    ("deallocate all", Forbidden::Prepared),
    ("declare a cursor with hold for select 1", Forbidden::Cursor),
    ("fetch a", Forbidden::Cursor),
    ("move a", Forbidden::Cursor),
    ("close all", Forbidden::Cursor),
    ("listen a", Forbidden::Channel),
    ("unlisten *", Forbidden::Channel),
    ("notify a", Forbidden::Channel),
    ("copy note from stdin", Forbidden::Copy),
    ("copy note to stdout", Forbidden::Copy),
    ("do $$ begin perform 1; end $$", Forbidden::Hidden),
    ("select query_to_xml('select 1', true, true, '')", Forbidden::Hidden),
    ("select \"query_to_xmlschema\"('select 1', true, true, '')", Forbidden::Hidden),
    ("select * from TS_Stat('select 1')", Forbidden::Hidden),
    ("lock table note", Forbidden::Definition),
    ("show search_path", Forbidden::Definition),
    ("create temp table a (b int)", Forbidden::Definition),
    ("select * into temp taken from note", Forbidden::Definition),
    ("select insert into temp taken from (select body as insert from note) n", Forbidden::Definition),
    ("select count(*) merge into temp taken from note", Forbidden::Definition),
    ("with n as (select 1) select count(*) insert into temp taken from n", Forbidden::Definition),
    ("alter role app set search_path = pg_temp", Forbidden::Definition),
    ("alter system set work_mem = '1MB'", Forbidden::Definition),
    ("alter database postgres set work_mem = '1MB'", Forbidden::Definition),
    ("drop table note", Forbidden::Definition),
    ("truncate note", Forbidden::Definition),
    ("grant select on note to public", Forbidden::Definition),
    ("revoke select on note from app", Forbidden::Definition),
    ("comment on table note is 'x'", Forbidden::Definition),
    ("analyze note", Forbidden::Definition),
    ("vacuum", Forbidden::Definition),
    ("cluster", Forbidden::Definition),
    ("checkpoint", Forbidden::Definition),
    ("reindex table note", Forbidden::Definition),
    ("refresh materialized view note", Forbidden::Definition),
    ("reassign owned by app to postgres", Forbidden::Definition),
    ("security label on table note is 'x'", Forbidden::Definition),
    ("import foreign schema a from server b into c", Forbidden::Definition),
    ("select 1; select 2", Forbidden::Several),
    ("select 1 -- '\n; rollback", Forbidden::Several),
    ("select E'\\'; rollback", Forbidden::Unreadable),
];

#[tokio::test]
async fn what_changes_the_session_is_refused_through_every_way_in() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globals = database.untenanted();
    let mut expected = 0;
    let mut tx = acme.begin().await.unwrap();
    for (sql, why) in REFUSED {
        let ways = [
            sqlx::query(*sql).execute(&mut tx).await.map(drop),
            sqlx::query(*sql).fetch_optional(&mut tx).await.map(drop),
            sqlx::query(*sql).fetch_all(&mut tx).await.map(drop),
            tx.prepare(sql.into_sql_str()).await.map(drop),
            tx.describe(sql.into_sql_str()).await.map(drop),
            sqlx::query(*sql).execute(&globals).await.map(drop),
            (&globals).prepare(sql.into_sql_str()).await.map(drop),
        ];
        for (way, refused) in ways.into_iter().enumerate() {
            let error = PgError::from(refused.unwrap_err());
            assert!(matches!(error, PgError::Forbidden(forbidden) if forbidden == *why), "{sql}, {way}: {error:?}");
            expected += 1;
        }
    }
    let seen: Vec<String> = sqlx::query_scalar("select body from note order by id").fetch_all(&mut tx).await.unwrap();
    assert_eq!(seen, ACME, "the transaction goes on");
    tx.commit().await.unwrap();
    let pid = async || -> i32 { sqlx::query_scalar("select pg_backend_pid()").fetch_one(&acme).await.unwrap() };
    let before = pid().await;
    for (sql, why) in REFUSED {
        let error = PgError::from(sqlx::query(*sql).execute(&acme).await.unwrap_err());
        assert!(matches!(error, PgError::Forbidden(forbidden) if forbidden == *why), "{sql}: {error:?}");
        expected += 1;
    }
    assert_eq!(pid().await, before, "no connection was spoilt");
    assert_eq!(world.refused_by_the_guard().await, expected);
}

#[tokio::test]
async fn what_reads_and_writes_rows_is_admitted() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let own = world.life("acme").uuid();
    for sql in [
        "(select body from note) union all table note_names",
        "values (1), (2);",
        "with gone as (delete from note where id = 1 returning *) insert into note select * from gone",
        "merge into note using (select 1 as id) s on note.id = s.id when matched then update set slug = 'merged'",
        "update note set body = 'set_config'",
        "call nothing()",
        "select id as \"commit; rollback\", e'it\\'s' as u, $x$;$x$, U&'\\0041' from note -- ;",
        "",
    ] {
        world.server.run_as_owner("create or replace view note_names with (security_invoker) as select body from note; grant select on note_names to app; create or replace procedure nothing() language sql as ''").await;
        sqlx::query(sql).execute(&acme).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    assert_eq!(world.rows_in_truth(&format!("tenant_id = '{own}' and body = 'set_config'")).await, 2);
    assert_eq!(world.refused_by_the_guard().await, 0);
}

/// A piece of a list of expressions, good or bad, with everything in it that ends a statement somewhere else.
fn piece() -> impl Strategy<Value = String> {
    let inside = prop::collection::vec(
        prop::sample::select(
            &[
                ";",
                "'",
                "''",
                "\\",
                "\\'",
                "\"",
                "$$",
                "$a$",
                "$a",
                "/*",
                "*/",
                "--",
                "\n",
                "\r",
                "commit",
                "set_config",
                " ",
                "é",
                "u&",
                "E",
                "0",
            ][..],
        ),
        0..6,
    )
    .prop_map(|parts| parts.concat());
    let shape = prop::sample::select(
        &[
            "'{}'",
            "E'{}'",
            "e'{}'",
            "U&'{}'",
            "N'{}'",
            "B'{}'",
            "X'{}'",
            "$${}$$",
            "$a${}$a$",
            "$é${}$é$",
            "1 as \"{}\"",
            "1 as U&\"{}\"",
            "/* {} */ 1",
            "1 -- {}\n",
            "1 /* /* {} */ */",
            "'x'\n'{}'",
            "E'x' -- c\n '{}'",
            "'x' '{}'",
            "{}",
            "1+{}",
            "1 as a${}",
            "set_config('probe.k', '{}', false)",
            "Set_Config /**/ ('probe.k', '{}', false)",
            "\"set_config\"('probe.k', 'x', false)",
            "'{}' || set_config('probe.k', 'x', false)",
            "(select '{}')",
            "0x{}",
            "1.{}",
            "1;select '{}'",
            "1;;select 2 /*{}*/",
            "$1{}",
            "'x'--{}\n'{}'",
        ][..],
    );
    (shape, inside).prop_map(|(shape, inside)| shape.replace("{}", &inside))
}

/// What the server makes of a text, asked in the simple protocol.
#[derive(Debug, PartialEq)]
enum Said {
    /// So many statements, and whether they named `set_config`: the probe has changed, or a column is called so.
    Ran {
        statements: usize,
        named: bool,
    },
    Unterminated,
    /// Refused by the server itself, so nothing of it ran.
    Refused,
}

async fn ask(connection: &mut PgConnection, sql: &str) -> Said {
    connection.execute("set probe.k = 'unset'").await.unwrap();
    let (mut statements, mut named) = (0, false);
    let ran = {
        let mut steps = connection.fetch_many(AssertSqlSafe(sql));
        loop {
            match steps.try_next().await {
                Ok(Some(sqlx::Either::Left(_))) => statements += 1,
                Ok(Some(sqlx::Either::Right(row))) => named |= row.columns().iter().any(|c| c.name() == "set_config"),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        }
    };
    let probe: String = sqlx::query_scalar("select current_setting('probe.k')").fetch_one(connection).await.unwrap();
    match ran {
        Ok(()) => Said::Ran { statements, named: named || probe != "unset" },
        Err(error) => {
            let message = error.as_database_error().map(|e| e.message().to_owned()).unwrap_or_default();
            if message.starts_with("unterminated") { Said::Unterminated } else { Said::Refused }
        }
    }
}

/// Texts made of every kind of token, read by the guard and by the server.
#[tokio::test]
async fn the_guard_reads_as_the_server_does() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let mut scratch = PgConnection::connect_with(&world.server.app_options()).await.unwrap();
    let scale: usize = std::env::var("TENANCY_TEST_SCALE").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut runner = TestRunner::new(Config::default());
    let texts = (prop::collection::vec(piece(), 1..4), prop::sample::select(&["", ";", " -- ;", "; ;\n"][..]))
        .prop_map(|(pieces, end)| format!("select {}{end}", pieces.join(", ")));
    let (mut one, mut several, mut naming, mut open) = (0, 0, 0, 0);
    let mut tx = acme.begin().await.unwrap();
    for _case in 0..2000 * scale {
        let sql = texts.new_tree(&mut runner).unwrap().current();
        let said = ask(&mut scratch, &sql).await;
        // Preparing does not run it, and asks the guard all the same.
        let guard = match (&mut tx).describe(AssertSqlSafe(sql.as_str()).into_sql_str()).await.map_err(PgError::from) {
            Ok(_) => None,
            Err(PgError::Forbidden(why)) => Some(why),
            Err(_) => {
                drop(tx);
                tx = acme.begin().await.unwrap();
                None
            }
        };
        match (&said, guard) {
            (Said::Ran { statements: 1, named: false }, None) => one += 1,
            (Said::Ran { statements: 2.., named: false }, Some(Forbidden::Several)) => several += 1,
            (Said::Ran { statements: _, named: true }, Some(Forbidden::Session | Forbidden::Several)) => naming += 1,
            (Said::Unterminated, Some(_)) => open += 1,
            // What the server refuses whole does no harm, whatever the guard makes of it.
            (Said::Refused, _) => {}
            // The guard is sure of no name with escapes.
            (Said::Ran { .. }, Some(Forbidden::Unreadable)) if sql.contains("U&\"") => {}
            _differ => panic!("{sql:?}: the server says {said:?}, the guard {guard:?}"),
        }
    }
    assert!(one > 100 && several > 20 && naming > 20 && open > 20, "{one} {several} {naming} {open}");
    scratch.close().await.unwrap();
}

#[tokio::test]
async fn a_connection_that_was_handed_out_serves_nobody_else() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    let pid = async || -> i32 { sqlx::query_scalar("select pg_backend_pid()").fetch_one(&globex).await.unwrap() };
    let before = pid().await;
    assert_eq!(pid().await, before, "the control: used again");

    let mut tx = acme.begin().await.unwrap();
    let connection = danger::connection(&mut tx, "a library insists").await.unwrap();
    let seen: i64 = sqlx::query_scalar("select count(*) from note").fetch_one(&mut *connection).await.unwrap();
    assert_eq!(seen, 2, "in the tenant's scope");
    let records = world.tenants.audit().await;
    let record = records.iter().find(|r| r.reason() == Some("a library insists")).unwrap();
    assert_eq!((record.outcome().as_str(), record.life()), ("done", Some(world.life("acme"))));
    tx.commit().await.unwrap();
    let after = pid().await;
    assert_ne!(after, before, "closed, though clean");
    assert_eq!(bodies(&globex).await, GLOBEX);

    let mut tx = acme.begin().await.unwrap();
    let connection = danger::connection(&mut tx, "a library insists").await.unwrap();
    sqlx::query("select pretend($1)").bind(world.life("globex").uuid().to_string()).execute(connection).await.unwrap();
    assert_eq!(tx.commit().await.unwrap_err().denial(), Some(tenancy_core::Denial::StoreBreach));

    let mut tx = acme.begin().await.unwrap();
    world.tenants.suspend("acme");
    let refused = danger::connection(&mut tx, "too late").await.unwrap_err();
    assert_eq!(refused.denial(), Some(tenancy_core::Denial::TenantSuspended));
    assert!(world.tenants.audit().await.iter().all(|r| r.reason() != Some("too late")));
}
