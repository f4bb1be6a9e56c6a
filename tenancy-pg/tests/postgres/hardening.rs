//! What the hardening takes from everybody is complete, and who is named keeps it.

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, SqlSafeStr};
use tenancy_pg::{Code, Database, InspectPolicy, PgOptions, hardening_sql, hardening_sql_keeping, migrate};
use tenancy_testkit::{APP, OWNER};

use crate::common::plain_role;
use crate::sealed::Sealed;
use crate::wire::Wire;

/// Every function of the server that every role may call is called with texts that are SQL, or stand for it, and the list
/// is held against what ran. A server with a new one turns this red.
#[tokio::test]
async fn every_function_that_runs_a_text_is_taken() {
    let world = Sealed::not_hardened().await;
    let runners = runners(&world).await;
    let xml = PgConnection::connect_with(&world.server.superuser_options()).await.unwrap();
    let xml = sqlx::query("select '<a/>'::xml").fetch_one(&mut { xml }).await.is_ok();
    assert!(["ts_stat(text)", "ts_rewrite(tsquery,text)"].iter().all(|one| runners.iter().any(|is| is == one)));
    assert!(!xml || runners.len() >= 10, "{runners:?}");
    world.server.run(&hardening_sql()).await;
    let mut superuser = PgConnection::connect_with(&world.server.superuser_options()).await.unwrap();
    let left: Vec<String> = sqlx::query_scalar(
        "select f from unnest($1::text[]) f where has_function_privilege('app', ('pg_catalog.' || f)::regprocedure, 'EXECUTE')",
    )
    .bind(&runners)
    .fetch_all(&mut superuser)
    .await
    .unwrap();
    assert_eq!(left, [""; 0], "these run a text as SQL, and are left to everybody");
    assert_eq!(self::runners(&world).await, [""; 0]);
}

/// The functions that ran what a text, name or cursor stands for. A sequence counts, which no error takes back.
async fn runners(world: &Sealed) -> Vec<String> {
    world
        .server
        .run(
            "drop schema if exists marks cascade; create schema marks; create sequence marks.ran;
             create view marks.v as select nextval('marks.ran');
             grant usage on schema marks to app; grant select, usage on marks.ran to app; grant select on marks.v to app",
        )
        .await;
    let mut wire = Wire::connect(&world.server).await;
    let candidates = wire.run(CANDIDATES).await;
    assert!(candidates.rows.len() > 200, "{}", candidates.rows.len());
    wire.run("set statement_timeout = '5s'").await;
    let (mut found, mut untried) = (Vec::new(), Vec::new());
    for row in &candidates.rows {
        let [name, signature, types, strict] = [0, 1, 2, 3].map(|at| row[at].as_deref().unwrap_or_default());
        for text in ["select nextval('marks.ran')", "marks.v", "marks", "c", "nextval('marks.ran')"] {
            let arguments: Vec<String> = types.split(';').map(|kind| argument(kind, text)).collect();
            if strict == "t" && arguments.iter().any(|argument| argument.starts_with("null")) {
                untried.push(signature.to_owned());
                break;
            }
            wire.query("begin; declare c cursor for select nextval('marks.ran')").await;
            wire.query(&format!("select pg_catalog.{name}({})", arguments.join(", "))).await;
            wire.query("rollback").await;
            let ran = wire.run("select is_called from marks.ran").await;
            if ran.column() == ["t"] {
                found.push(signature.to_owned());
                world.server.run("alter sequence marks.ran restart").await;
                break;
            }
        }
    }
    // Ranges, geometric types and the like beside a text: none of them is a place for SQL.
    assert!(untried.len() * 10 < candidates.rows.len(), "{untried:?}");
    found
}

fn argument(kind: &str, text: &str) -> String {
    let text = text.replace('\'', "''");
    match kind {
        "text" | "name" | "cstring" | "character varying" | "character" | "\"char\"" => format!("'{text}'::{kind}"),
        "text[]" | "name[]" | "cstring[]" => format!("array['{text}']::{kind}"),
        "refcursor" => "'c'::refcursor".to_owned(),
        "regclass" => "'marks.v'::regclass".to_owned(),
        "boolean" => "true".to_owned(),
        "smallint" | "integer" | "bigint" | "oid" | "real" | "double precision" | "numeric" => format!("1::{kind}"),
        "tsquery" | "tsvector" => format!("'a'::{kind}"),
        "regconfig" | "regdictionary" => format!("'simple'::{kind}"),
        "json" | "jsonb" | "jsonpath" => format!("'{}'::{kind}", if kind == "jsonpath" { "$" } else { "{}" }),
        "bytea" | "xml" | "bit varying" => format!("''::{kind}"),
        "timestamp with time zone" | "timestamp without time zone" | "date" => format!("now()::{kind}"),
        "interval" | "time without time zone" | "time with time zone" => format!("'00:00:01'::{kind}"),
        "inet" => "'::1'::inet".to_owned(),
        "uuid" => "gen_random_uuid()".to_owned(),
        "anyelement" | "\"any\"" | "anynonarray" | "anycompatible" => format!("'{text}'::text"),
        "anyarray" | "anycompatiblearray" => format!("array['{text}']::text[]"),
        "" => String::new(),
        other => format!("null::{other}"),
    }
}

const CANDIDATES: &str = "
select p.proname, p.oid::regprocedure::text,
       (select string_agg(format_type(t, null), ';' order by place) from unnest(p.proargtypes) with ordinality a(t, place)),
       p.proisstrict
from pg_proc p
where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f' and has_function_privilege('app', p.oid, 'EXECUTE')
  and exists (select from unnest(p.proargtypes) t where t in ('text'::regtype, 'name'::regtype, 'cstring'::regtype,
      'refcursor'::regtype, 'regclass'::regtype, 'text[]'::regtype, '\"any\"'::regtype))
  and not exists (select from unnest(p.proargtypes) t where t in ('internal'::regtype, 'trigger'::regtype))
order by 2";

/// What the owner's migrations do, and the first lines of what `pg_dump` writes.
const MIGRATIONS: &[&str] = &[
    "do $$ begin perform 1; end $$",
    "create temp table moved as select 1 as id",
    "create function {new}() returns int language plpgsql as $$ begin return 1; end $$",
    "set statement_timeout = 0; set lock_timeout = 0; set client_encoding = 'UTF8'; set standard_conforming_strings = on;
     select pg_catalog.set_config('search_path', '', false); set check_function_bodies = false;
     set xmloption = content; set client_min_messages = warning; set row_security = off",
    "select * from pg_catalog.ts_stat('select ''a''::tsvector')",
    "select pg_cancel_backend(0)",
];

#[tokio::test]
async fn roles_keep_by_name_what_everybody_else_loses() {
    let world = Sealed::not_hardened().await;
    // Who owns a database may do in it what the owner of the tables, as a rule, may not.
    let name = world.server.name();
    world
        .server
        .run(&format!("alter database {name} owner to postgres; grant create on schema public to {OWNER}"))
        .await;
    let odd = format!("100% \"{}\"", world.server.name());
    let quoted = odd.replace('"', "\"\"");
    world.server.run(&format!("create role \"{quoted}\" login in role {OWNER} noinherit")).await;
    let member = format!("member_{}", world.server.name());
    plain_role(&world.server, &member).await;

    world.server.run(&hardening_sql()).await;
    assert_eq!(refused(&world, OWNER).await, MIGRATIONS.len(), "without a name the owner has lost it too");

    for _again in 0..2 {
        world.server.run(&hardening_sql_keeping(&[OWNER, &odd, "public"])).await;
    }
    assert_eq!(refused(&world, OWNER).await, 0);
    assert_eq!(refused(&world, APP).await, MIGRATIONS.len());
    assert_eq!(refused(&world, &member).await, MIGRATIONS.len(), "nobody else");
    let mut keeper = PgConnection::connect_with(&world.server.options(&odd)).await.unwrap();
    sqlx::raw_sql("do $$ begin end $$; create temp table t ()").execute(&mut keeper).await.unwrap();
    for sql in ["select lo_create(0)", "create table public.t ()"] {
        let refused = sqlx::raw_sql(sql).execute(&mut keeper).await.unwrap_err();
        assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "42501", "{sql}: kept by nobody");
    }
    keeper.close().await.unwrap();

    // Through sqlx's own migrator, in the order of a service that upgrades.
    let migrations = MIGRATIONS.iter().enumerate().map(|(at, sql)| {
        let (version, name) = (i64::try_from(at).unwrap() + 1, format!("number {at}").into());
        let sql = AssertSqlSafe(sql.replace("{new}", "public.migrated") + ROOM).into_sql_str();
        Migration::new(version, name, MigrationType::Simple, sql, false)
    });
    migrate(&Migrator::with_migrations(migrations.collect()), world.server.owner_options()).await.unwrap();

    // The service is inspected as ever, and so is what it can become.
    let report = async || {
        let database =
            Database::connect(world.tenants.realm(), PgOptions::new(world.server.app_options())).await.unwrap();
        database.report(&world.declaration, InspectPolicy::new()).await.unwrap()
    };
    let found = report().await;
    assert!(!found.has(Code::NotHardened) && found.fatal().count() == 0, "{found}");
    world.server.run(&format!("{}; grant {member} to app", hardening_sql_keeping(&[&member]))).await;
    let found = report().await;
    let open = found.fatal().find(|finding| finding.code == Code::NotHardened).unwrap();
    for part in ["TEMPORARY", "plpgsql", "set_config", "pg_terminate_backend", "query_to_xml", "ts_rewrite"] {
        assert!(open.object.contains(part), "{part}: {open}");
    }
    world.server.run(&format!("drop owned by {member}, \"{quoted}\"")).await;
    world.server.run(&format!("drop role \"{quoted}\"; drop role {member}")).await;
}

/// The migrator's own table is looked up where the path says.
const ROOM: &str = "; select pg_catalog.set_config('search_path', 'public', false)";

/// How many of the migrations the server refuses to a role for want of a right.
async fn refused(world: &Sealed, role: &str) -> usize {
    let mut refused = 0;
    for sql in MIGRATIONS {
        let mut connection = PgConnection::connect_with(&world.server.options(role)).await.unwrap();
        let sql = sql.replace("{new}", "pg_temp.made");
        let ran = sqlx::raw_sql(AssertSqlSafe(sql.clone())).execute(&mut connection).await;
        refused += ran.err().map_or(0, |error| {
            assert_eq!(error.as_database_error().unwrap().code().unwrap(), "42501", "{role}: {sql}: {error}");
            1
        });
        connection.close().await.unwrap();
    }
    refused
}
