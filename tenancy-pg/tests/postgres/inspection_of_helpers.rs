//! Functions that policies call.

use tenancy_pg::Code;

use crate::common::World;
use crate::inspection::report;

/// A function of SQL that gives the setting is as good as the setting; whatever else is not looked into does not bind.
#[tokio::test]
async fn a_helper_binds_when_its_body_is_the_setting() {
    let world = World::bare().await;
    let on = "alter table note enable row level security; alter table note force row level security; create schema app";
    world.server.run_as_owner(on).await;
    let key = "nullif(current_setting('tenancy.row_key', true), '')";
    for (what, helper, policy, expected) in [
        ("SQL", "returns uuid language sql stable as $$ select {key}::uuid $$", "tenant_id = app.f()", None),
        (
            "SQL, ended and aliased",
            "returns uuid language sql stable as $$ SELECT {key}::uuid AS k; $$",
            "tenant_id = app.f()",
            None,
        ),
        (
            "wrapped for the planner",
            "returns uuid language sql stable as $$ select {key}::uuid $$",
            "tenant_id = (select app.f())",
            None,
        ),
        (
            "text, cast by the policy",
            "returns text language sql stable as $$ select {key} $$",
            "tenant_id = app.f()::uuid",
            None,
        ),
        ("RETURN", "returns uuid language sql stable return {key}::uuid", "app.f() = tenant_id", None),
        (
            "BEGIN ATOMIC",
            "returns uuid language sql stable begin atomic select {key}::uuid; end",
            "tenant_id = app.f()",
            None,
        ),
        (
            "NULLIF by the policy",
            "returns text language sql stable as $$ select current_setting('tenancy.row_key', true) $$",
            "tenant_id = nullif(app.f(), '')::uuid",
            None,
        ),
        (
            "a pinned search path",
            "returns uuid language sql stable set search_path = pg_catalog, pg_temp as $$ select {key}::uuid $$",
            "tenant_id = app.f()",
            None,
        ),
        (
            "no NULLIF anywhere",
            "returns uuid language sql stable as $$ select current_setting('tenancy.row_key', true)::uuid $$",
            "tenant_id = app.f()",
            Some(Code::PolicyEmptySetting),
        ),
        (
            "volatile",
            "returns uuid language sql as $$ select {key}::uuid $$",
            "tenant_id = app.f()",
            Some(Code::VolatileHelper),
        ),
        (
            "plpgsql",
            "returns uuid language plpgsql stable as $$ begin return {key}::uuid; end $$",
            "tenant_id = app.f()",
            Some(Code::PolicyUnbound),
        ),
        (
            "a default tenant",
            "returns uuid language sql stable as $$ select coalesce({key}::uuid, gen_random_uuid()) $$",
            "tenant_id = app.f()",
            Some(Code::PolicyUnbound),
        ),
        (
            "another setting",
            "returns uuid language sql stable as $$ select nullif(current_setting('app.tenant', true), '')::uuid $$",
            "tenant_id = app.f()",
            Some(Code::PolicyUnbound),
        ),
        (
            "itself",
            "returns uuid language sql stable as $$ select {key}::uuid $$; \
             create or replace function app.f() returns uuid language sql stable as $$ select app.f() $$",
            "tenant_id = app.f()",
            Some(Code::PolicyUnbound),
        ),
        (
            "a look-up",
            "returns uuid language sql stable as $$ select tenant_id from public.note limit 1 $$",
            "tenant_id = app.f()",
            Some(Code::PolicyUnbound),
        ),
        (
            "two statements",
            "returns uuid language sql stable as $$ select 1; select {key}::uuid $$",
            "tenant_id = app.f()",
            Some(Code::PolicyUnbound),
        ),
        (
            "a condition",
            "returns uuid language sql stable as $$ select {key}::uuid where true $$",
            "tenant_id = app.f()",
            Some(Code::PolicyUnbound),
        ),
        (
            "a set",
            "returns setof uuid language sql stable as $$ select {key}::uuid $$",
            "tenant_id in (select app.f())",
            Some(Code::PolicyUnbound),
        ),
        (
            "a setting of its own",
            "returns uuid language sql stable set \"tenancy.row_key\" = '' as $$ select {key}::uuid $$",
            "tenant_id = app.f()",
            Some(Code::PolicyUnbound),
        ),
        (
            "the answer, not the key",
            "returns boolean language sql stable as $$ select true $$",
            "app.f()",
            Some(Code::PolicyUnbound),
        ),
        (
            "a helper of the service's own",
            "returns uuid language sql stable as $$ select {key}::uuid $$; alter function app.f owner to app",
            "tenant_id = app.f()",
            Some(Code::ReplaceableHelper),
        ),
        (
            "in a schema of the service's own",
            "returns uuid language sql stable as $$ select {key}::uuid $$; alter schema app owner to app",
            "tenant_id = app.f()",
            Some(Code::ReplaceableHelper),
        ),
        (
            "a current_setting of somebody's",
            "returns uuid language sql stable as $$ select {key}::uuid $$; create function app.current_setting(text, boolean) returns text language sql as 'select 1'",
            "tenant_id = app.f()",
            Some(Code::PolicyUnbound),
        ),
        (
            "a cast of somebody's",
            "returns uuid language sql immutable as $$ select gen_random_uuid() $$; create domain app.odd as text; create function app.g(app.odd) returns uuid language sql immutable as $$ select null::uuid $$",
            "app.g('x') = tenant_id",
            Some(Code::PolicyUnbound),
        ),
    ] {
        let make = format!(
            "create function app.f() {}; create policy p on note using ({policy})",
            helper.replace("{key}", key)
        );
        world.server.run(&format!("set search_path = public; {make}")).await;
        let report = report(&world, world.server.app_options()).await;
        match expected {
            None => assert_eq!(report.fatal().count(), 0, "{what}: {report}"),
            Some(code) => assert!(report.has(code), "{what}: {report}"),
        }
        // What a finding says mends it does, for the function as for the policy.
        for finding in report.findings.iter().filter(|finding| finding.code.class() == "policy") {
            world.server.run(&finding.fix).await;
        }
        let mended = crate::inspection::report(&world, world.server.app_options()).await;
        assert!(mended.findings.iter().all(|f| f.code.class() != "policy"), "{what}: {mended}");
        world
            .server
            .run("drop policy if exists p on note; drop policy if exists tenancy_row_key on note; drop schema app cascade; create schema app authorization own")
            .await;
    }
}
