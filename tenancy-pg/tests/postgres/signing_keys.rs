//! Signing keys in the database, who may do what in the schema `tenancy`, and the hardening.

use secrecy::ExposeSecret;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor};
use tenancy_pg::{
    SigningKey, SigningKeyId, hardening_sql, registrar_sql, retire_key_sql, signed_schema_sql, signing_key_sql,
};
use tenancy_testkit::{APP, CONTROL, OWNER};

use crate::common::{ACME, scalar};
use crate::sealed::{Sealed, look};
use crate::wire::Wire;

/// The message of the error that a statement of a role ends in, if it does.
async fn refusal(world: &Sealed, role: &str, sql: &str) -> Option<String> {
    let mut connection = PgConnection::connect_with(&world.server.options(role)).await.unwrap();
    let refused = connection.execute(AssertSqlSafe(sql)).await.err();
    connection.close().await.unwrap();
    refused.map(|error| error.as_database_error().unwrap().message().to_owned())
}

/// Add the next, sign with it, retire the last; at every step some key is live, and never more than two.
#[tokio::test]
async fn keys_are_exchanged_without_a_gap() {
    let world = Sealed::new().await;
    let (first, second, third) = (world.key.clone(), SigningKey::generate(), SigningKey::generate());
    let add = async |key: &SigningKey| refusal(&world, "postgres", signing_key_sql(key).expose_secret()).await;
    let retire = async |key: &SigningKey| refusal(&world, "postgres", &retire_key_sql(key.id())).await;
    let live = async || {
        let sql = "select count(*) from tenancy.signing_key where place is not null";
        scalar(&world.server.superuser_options(), sql).await
    };

    assert!(retire(&first).await.unwrap().contains("no other signing key"), "the last one stays");
    assert_eq!(add(&first).await, None, "twice is once");
    assert_eq!((add(&second).await, add(&second).await, live().await), (None, None, 2));
    assert!(add(&third).await.unwrap().contains("at_most_two_keys_are_live"));
    let impostor = SigningKey::parse(&format!("{}.{}", second.id(), "00".repeat(32))).unwrap();
    assert!(add(&impostor).await.is_some(), "another key under a known id");

    let (mut under_first, _) = world.begun("acme").await;
    assert_eq!(look(&mut under_first).await.column(), ACME);
    assert_eq!((retire(&first).await, retire(&first).await, live().await), (None, None, 1), "twice is once");
    assert_eq!(look(&mut under_first).await.error.as_deref(), Some("28000"));
    assert!(add(&first).await.unwrap().contains("is retired for good"), "a retired key does not come back");
    let forgotten = "select count(*) from tenancy.signing_key where place is null and ipad is null and opad is null";
    assert_eq!(scalar(&world.server.superuser_options(), forgotten).await, 1);

    assert_eq!((add(&third).await, live().await), (None, 2));
    assert_eq!((retire(&second).await, live().await), (None, 1));
    assert!(retire(&third).await.is_some());
    let unknown = retire_key_sql(&SigningKeyId::parse("unknown0").unwrap());
    assert!(refusal(&world, "postgres", &unknown).await.unwrap().contains("there is no signing key unknown0"));
}

/// The schema is nobody's but its owner's.
#[tokio::test]
async fn nobody_may_more_in_the_schema_than_is_said() {
    let world = Sealed::new().await;
    world.server.run(&registrar_sql(CONTROL)).await;
    world.server.run(&signed_schema_sql(&world.declaration, OWNER, &[APP])).await;
    let verify = "select tenancy.signed_row_key_uuid()";
    let fence = "update tenancy.tenant set live = live";
    for (role, sql, allowed) in [
        (APP, verify, true),
        (OWNER, verify, false),
        (CONTROL, verify, false),
        (APP, "select from tenancy.tenant", false),
        (APP, fence, false),
        (APP, "insert into tenancy.tenant values (gen_random_uuid(), gen_random_uuid())", false),
        (APP, "select kid from tenancy.signing_key", false),
        (APP, "create table tenancy.mine ()", false),
        (OWNER, "create table child (t uuid references tenancy.tenant)", true),
        (OWNER, "select from tenancy.tenant", false),
        (OWNER, "select kid from tenancy.signing_key", false),
        (OWNER, "create table tenancy.mine ()", false),
        (
            OWNER,
            "create or replace function tenancy.signed_row_key_uuid() returns uuid language sql as 'select null'",
            false,
        ),
        (CONTROL, fence, true),
        (CONTROL, "insert into tenancy.tenant values (gen_random_uuid(), gen_random_uuid())", true),
        (CONTROL, "update tenancy.tenant set row_key = row_key", false),
        (CONTROL, "delete from tenancy.tenant", false),
        (CONTROL, "select kid from tenancy.signing_key", false),
    ] {
        let refused = refusal(&world, role, sql).await;
        assert_eq!(refused.is_none(), allowed, "{role}: {sql}: {refused:?}");
    }
    // The owner under FORCE: loudly, and not no rows.
    let data = refusal(&world, OWNER, "update note set body = 'migrated'").await;
    assert!(data.unwrap().contains("permission denied for function signed_row_key_uuid"));
    let owner = "select count(*) from pg_roles where rolname = 'tenancy_owner'
                 and not (rolcanlogin or rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication)";
    assert_eq!(scalar(&world.server.superuser_options(), owner).await, 1);
}

/// What the hardening takes, and what goes on as before.
#[tokio::test]
async fn the_hardening_takes_these_and_nothing_else() {
    let world = Sealed::not_hardened().await;
    world
        .server
        .run_as_owner(
            "create function old_one() returns text language plpgsql as $$ begin return 'runs'; end $$;
             create function stamp() returns trigger language plpgsql as
               $$ begin new.body := new.body || ' stamped'; return new; end $$;
             create trigger stamp before insert on note for each row execute function stamp()",
        )
        .await;
    let taken = [
        "create temp table t ()",
        "create temp view v as select 1",
        "do $$ begin end $$",
        "select set_config('tenancy.row_key', 'x', true)",
        "select pg_terminate_backend(0)",
        "select pg_cancel_backend(0)",
        "select query_to_xml('select 1', true, true, '')",
        "select ts_rewrite('a'::tsquery, 'select ''a''::tsquery, ''b''::tsquery')",
        "select lo_create(0)",
        "select lo_from_bytea(0, '')",
    ];
    for sql in taken {
        let refused = refusal(&world, APP, sql).await;
        // Some servers are built without XML, which is no refusal to this role.
        let without_xml = refused.as_deref() == Some("unsupported XML feature");
        assert!(refused.is_none() || without_xml, "before: {sql}: {refused:?}");
    }
    world.server.run(&hardening_sql()).await;
    world.server.run(&hardening_sql()).await;
    for sql in taken {
        let refused = refusal(&world, APP, sql).await.unwrap_or_default();
        assert!(refused.starts_with("permission denied"), "after: {sql}: {refused}");
    }

    let mut wire = Wire::connect(&world.server).await;
    world.begin(&mut wire, "acme").await;
    assert_eq!(wire.run("select old_one()").await.column(), ["runs"]);
    let insert = format!("insert into note values ('{}', 9, 'new') returning body", world.life("acme").uuid());
    assert_eq!(wire.run(&insert).await.column(), ["new stamped"], "triggers fire");
    wire.run("set local work_mem = '8MB'; set local tenancy.row_key = 'x'").await;
    let plpgsql = "create function new_one() returns int language plpgsql as $$ begin return 1; end $$";
    assert!(refusal(&world, OWNER, plpgsql).await.unwrap().contains("permission denied for language plpgsql"));
    world.server.run(&format!("grant usage on language plpgsql to {OWNER}")).await;
    assert_eq!(refusal(&world, OWNER, plpgsql).await, None, "granted again to who needs it");
}
