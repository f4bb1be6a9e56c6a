//! What the inspection says about a database in signed mode: right as generated, and each thing taken away or added.

use tenancy_pg::{Code, Database, InspectPolicy, Inspection, PgOptions, hardening_sql, signed_schema_sql};
use tenancy_testkit::{APP, OWNER};

use crate::sealed::Sealed;

async fn report(world: &Sealed) -> Inspection {
    let options = PgOptions::new(world.server.app_options());
    let database = Database::connect(world.tenants.realm(), options).await.unwrap();
    database.report(&world.declaration, InspectPolicy::default()).await.unwrap()
}

#[tokio::test]
async fn as_generated_and_hardened_nothing_fatal_is_found() {
    let world = Sealed::new().await;
    let report = report(&world).await;
    assert_eq!(report.fatal().count(), 0, "{report}");
}

/// One change each, by a superuser, and its undoing; the database is right again after every one.
#[tokio::test]
async fn every_change_of_what_it_stands_on_is_fatal() {
    let world = Sealed::new().await;
    let again = signed_schema_sql(&world.declaration, OWNER, &[APP]);
    let verifier = "function tenancy.signed_row_key_uuid()";
    let helper = format!("helper_{}", world.server.name());
    let alter = |what: &str| format!("alter {verifier} {what}");
    for (what, change, undo, code) in [
        ("no longer SECURITY DEFINER", alter("security invoker"), "", Code::SignedVerifier),
        ("volatile", alter("volatile"), "", Code::SignedVerifier),
        ("immutable", alter("immutable"), "", Code::SignedVerifier),
        ("parallel safe", alter("parallel safe"), "", Code::SignedVerifier),
        ("parallel unsafe", alter("parallel unsafe"), "", Code::SignedVerifier),
        ("leakproof", alter("leakproof"), "alter function tenancy.signed_row_key_uuid() not leakproof", Code::SignedVerifier),
        ("no search path", alter("reset search_path"), "", Code::SignedVerifier),
        ("a search path with pg_temp first", alter("set search_path = pg_temp, pg_catalog"), "", Code::SignedVerifier),
        (
            "another setting",
            alter("set client_min_messages = debug1"),
            "alter function tenancy.signed_row_key_uuid() reset client_min_messages",
            Code::SignedVerifier,
        ),
        ("another owner", alter("owner to postgres"), "", Code::SignedVerifier),
        ("open to all", format!("grant execute on {verifier} to public"), "", Code::SignedVerifier),
        ("closed to the service", format!("revoke execute on {verifier} from app"), "", Code::SignedVerifier),
        (
            "another body with the same name",
            "create or replace function tenancy.signed_row_key_uuid() returns uuid language plpgsql stable
               parallel restricted security definer set search_path = pg_catalog, pg_temp as
               $$ begin return current_setting('tenancy.seal', true)::uuid; end $$"
                .to_owned(),
            "",
            Code::SignedVerifier,
        ),
        (
            "one letter of the body",
            "do $$ begin execute replace(pg_get_functiondef('tenancy.signed_row_key_uuid()'::regprocedure),
               'if is_live then', 'if is_live or true then'); end $$"
                .to_owned(),
            "",
            Code::SignedVerifier,
        ),
        (
            "another function in the schema",
            "create function tenancy.peek() returns setof tenancy.signing_key language sql security definer
               as 'select * from tenancy.signing_key'; alter function tenancy.peek() owner to tenancy_owner"
                .to_owned(),
            "drop function tenancy.peek()",
            Code::SignedVerifier,
        ),
        (
            "an overload",
            "create function tenancy.signed_row_key_uuid(text) returns uuid language sql as 'select null::uuid'".to_owned(),
            "drop function tenancy.signed_row_key_uuid(text)",
            Code::SignedVerifier,
        ),
        ("the schema is another's", "alter schema tenancy owner to postgres".to_owned(), "", Code::SignedOwner),
        ("the schema is the owner's of the tables", format!("alter schema tenancy owner to {OWNER}"), "", Code::SignedOwner),
        (
            "the owner owns more",
            "create table public.more (); alter table public.more owner to tenancy_owner".to_owned(),
            "drop table public.more",
            Code::SignedOwner,
        ),
        (
            "the service may create in the schema",
            "grant create on schema tenancy to app".to_owned(),
            "revoke create on schema tenancy from app",
            Code::SignedOwner,
        ),
        ("keys can be read", "grant select on tenancy.signing_key to app".to_owned(), "revoke all on tenancy.signing_key from app", Code::SignedTables),
        ("keys can be read by all", "grant select on tenancy.signing_key to public".to_owned(), "", Code::SignedTables),
        ("one column of the keys", "grant select (opad) on tenancy.signing_key to app".to_owned(), "revoke all (opad) on tenancy.signing_key from app", Code::SignedTables),
        ("keys can be added", "grant insert on tenancy.signing_key to app".to_owned(), "revoke all on tenancy.signing_key from app", Code::SignedTables),
        ("a fence can be lifted", "grant update (live) on tenancy.tenant to app".to_owned(), "revoke all (live) on tenancy.tenant from app", Code::SignedTables),
        ("the registry is another's", "alter table tenancy.tenant owner to own".to_owned(), "", Code::SignedTables),
        (
            "the registry is a view",
            "alter table tenancy.tenant rename to t; create view tenancy.tenant as select * from tenancy.t".to_owned(),
            "drop view tenancy.tenant; alter table tenancy.t rename to tenant",
            Code::SignedTables,
        ),
        (
            "a trigger on the keys",
            "create trigger t before insert on tenancy.signing_key for each row
               execute function suppress_redundant_updates_trigger()"
                .to_owned(),
            "drop trigger t on tenancy.signing_key",
            Code::SignedTables,
        ),
        (
            "no keys",
            "alter table tenancy.signing_key rename to gone".to_owned(),
            "alter table tenancy.gone rename to signing_key",
            Code::SignedTables,
        ),
        (
            "row keys of another type",
            "alter table tenancy.tenant rename to t; create table tenancy.tenant (row_key text, life uuid, live boolean);
               alter table tenancy.tenant owner to tenancy_owner"
                .to_owned(),
            "drop table tenancy.tenant; alter table tenancy.t rename to tenant",
            Code::SignedTables,
        ),
        ("temporary objects", "do $$ begin execute format('grant temporary on database %I to app', current_database()); end $$".to_owned(), "do $$ begin execute format('revoke temporary on database %I from app', current_database()); end $$", Code::NotHardened),
        ("plpgsql", "grant usage on language plpgsql to app".to_owned(), "revoke usage on language plpgsql from app", Code::NotHardened),
        ("plpgsql for all", "grant usage on language plpgsql to public".to_owned(), "revoke usage on language plpgsql from public", Code::NotHardened),
        ("set_config", "grant execute on function set_config(text, text, boolean) to public".to_owned(), "revoke execute on function set_config(text, text, boolean) from public", Code::NotHardened),
        ("terminating", "grant execute on function pg_terminate_backend(int, bigint) to app".to_owned(), "revoke execute on function pg_terminate_backend(int, bigint) from app", Code::NotHardened),
        ("cancelling", "grant execute on function pg_cancel_backend(int) to app".to_owned(), "revoke execute on function pg_cancel_backend(int) from app", Code::NotHardened),
        ("large objects", "grant execute on function lo_get(oid) to app".to_owned(), "revoke execute on function lo_get(oid) from app", Code::LargeObjects),
        ("creating in public", "grant create on schema public to app".to_owned(), "revoke create on schema public from app", Code::CreateRight),
        (
            "the policy calls another function",
            format!("create function {helper}() returns uuid language sql stable as 'select tenancy.signed_row_key_uuid()';
               drop policy tenancy_row_key on note; create policy other on note using (tenant_id = (select {helper}()))"),
            "drop policy other on note",
            Code::PolicyUnbound,
        ),
        (
            "the policy reads the plain setting",
            "drop policy tenancy_row_key on note; create policy other on note
               using (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid)"
                .to_owned(),
            "drop policy other on note",
            Code::PolicyUnbound,
        ),
        (
            "the policy reads the seal itself",
            "drop policy tenancy_row_key on note; create policy other on note
               using (tenant_id = nullif(current_setting('tenancy.seal', true), '')::uuid)"
                .to_owned(),
            "drop policy other on note",
            Code::PolicyUnbound,
        ),
    ] {
        world.server.run(&change).await;
        let found = report(&world).await;
        let fatal = found.fatal().any(|finding| finding.code == code);
        assert!(fatal, "{what}: {found}");
        world.server.run(undo).await;
        world.server.run(&again).await;
        world.server.run_as_owner(&tenancy_pg::policy_sql(&world.declaration)).await;
        let mended = report(&world).await;
        assert_eq!(mended.fatal().count(), 0, "{what}, mended: {mended}");
    }
}

/// Without the schema, or without the hardening, a signed declaration does not open at all.
#[tokio::test]
async fn what_is_absent_is_fatal() {
    let world = Sealed::not_hardened().await;
    let found = report(&world).await;
    assert!(found.fatal().any(|finding| finding.code == Code::NotHardened), "{found}");
    world.server.run(&hardening_sql()).await;
    assert_eq!(report(&world).await.fatal().count(), 0);
    world.server.run("drop schema tenancy cascade").await;
    let found = report(&world).await;
    for code in [Code::SignedVerifier, Code::SignedOwner, Code::SignedTables] {
        assert!(found.fatal().any(|finding| finding.code == code), "{code:?}: {found}");
    }
}
