//! Policies: generated, judged, and in odd names.

use sqlx::AssertSqlSafe;
use tenancy_pg::{Code, Database, Declaration, PgError, RowKeyType, TenantTable, grant_sql, policy_sql};
use tenancy_testkit::APP;

use crate::common::World;
use crate::inspection::report;

/// P10 and its relatives: which policies keep tenants apart.
#[tokio::test]
async fn policies_are_judged_as_the_server_applies_them() {
    let world = World::bare().await;
    let on = "alter table note enable row level security; alter table note force row level security";
    world.server.run_as_owner(on).await;
    let bound = "tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid";
    let cases: &[(&str, &str, Option<Code>)] = &[
        // Right ones.
        ("P10a: ALL with USING only", "create policy p on note using ({b})", None),
        (
            "P10d: a restrictive floor under an open policy",
            "create policy p on note using (true); create policy floor on note as restrictive using ({b})",
            None,
        ),
        (
            "one policy a command",
            "create policy r on note for select using ({b}); create policy a on note for insert with check ({b}); create policy w on note for update using ({b}); create policy d on note for delete using ({b})",
            None,
        ),
        (
            "an open policy for another role",
            "create policy p on note using ({b}); create policy o on note to own using (true)",
            None,
        ),
        (
            "two that both bind",
            "create policy p on note using ({b}); create policy q on note using ({b} and id > 0)",
            None,
        ),
        (
            "wrapped for the planner",
            "create policy p on note using (tenant_id = (select nullif(current_setting('tenancy.row_key', true), '')::uuid))",
            None,
        ),
        // Leaks.
        (
            "P10b: USING and CHECK (true)",
            "create policy p on note using ({b}) with check (true)",
            Some(Code::PolicyUnbound),
        ),
        (
            "a second permissive policy",
            "create policy p on note using ({b}); create policy q on note using (true)",
            Some(Code::PolicyUnbound),
        ),
        (
            "a second one for one command",
            "create policy p on note using ({b}); create policy q on note for select using (id < 3)",
            Some(Code::PolicyUnbound),
        ),
        (
            "fail-open on a missing setting",
            "create policy p on note using ({b} or current_setting('tenancy.row_key', true) is null)",
            Some(Code::PolicyUnbound),
        ),
        (
            "fail-open on an empty setting",
            "create policy p on note using (current_setting('tenancy.row_key', true) = '' or {b})",
            Some(Code::PolicyUnbound),
        ),
        (
            "a bypass by another setting",
            "create policy p on note using ({b} and coalesce(current_setting('app.bypass', true), '') = '')",
            Some(Code::SecondSetting),
        ),
        (
            "a default tenant",
            "create policy p on note using (tenant_id = coalesce(nullif(current_setting('tenancy.row_key', true), ''), '00000000-0000-0000-0000-000000000000')::uuid)",
            Some(Code::PolicyUnbound),
        ),
        ("rows of nobody", "create policy p on note using (tenant_id is null or {b})", Some(Code::PolicyUnbound)),
        ("negated", "create policy p on note using (not ({b}))", Some(Code::PolicyUnbound)),
        (
            "another column",
            "alter table note add other uuid; create policy p on note using (other = nullif(current_setting('tenancy.row_key', true), '')::uuid)",
            Some(Code::PolicyUnbound),
        ),
        (
            "another setting",
            "create policy p on note using (tenant_id = nullif(current_setting('app.tenant', true), '')::uuid)",
            Some(Code::PolicyUnbound),
        ),
        ("the user", "create policy p on note using (current_user = 'app')", Some(Code::PolicyUnbound)),
        (
            "a function of ours in front of the server's",
            "create function current_setting(text, boolean) returns text language sql as 'select null'; create policy p on note using (tenant_id = nullif(public.current_setting('tenancy.row_key', true), '')::uuid)",
            Some(Code::PolicyUnbound),
        ),
        (
            "a floor for some roles only",
            "create role {role}; grant {role} to app; grant select on note to {role}; create policy p on note using (true); create policy floor on note as restrictive to app using ({b})",
            Some(Code::PolicyUnbound),
        ),
        (
            "the same, and the other role may not yet do anything",
            "create role {role}; grant {role} to app; create policy p on note using (true); create policy floor on note as restrictive to app using ({b})",
            Some(Code::LatentPolicy),
        ),
        (
            "open for a command that is not granted",
            "revoke delete on note from app; create policy p on note using ({b}); create policy d on note for delete using (true)",
            Some(Code::LatentPolicy),
        ),
        (
            "open for UPDATE alone, which need not read",
            "create policy r on note for select using ({b}); create policy a on note for insert with check ({b}); create policy d on note for delete using ({b}); create policy w on note for update using (true) with check ({b})",
            Some(Code::PolicyUnbound),
        ),
        (
            "held by the side of an OR that binds, only",
            "create policy p on note using (({b} and id > 0) or ({b} and id < 0))",
            None,
        ),
        (
            "a user beside the tenant",
            "create policy p on note using ({b} and current_user = 'app')",
            Some(Code::UserPolicy),
        ),
        (
            "a floor for reading only",
            "create policy p on note using (true); create policy floor on note as restrictive for select using ({b})",
            Some(Code::PolicyUnbound),
        ),
        // Outages.
        ("no policy at all", "select 1", Some(Code::PolicyMissing)),
        ("restrictive ones only", "create policy floor on note as restrictive using ({b})", Some(Code::PolicyMissing)),
        (
            "P10c: nothing for INSERT",
            "create policy r on note for select using ({b}); create policy w on note for update using ({b}); create policy d on note for delete using ({b})",
            Some(Code::PolicyMissing),
        ),
        ("for another role", "create policy p on note to own using ({b})", Some(Code::PolicyMissing)),
    ];
    for (what, make, expected) in cases {
        world.server.run(&world.named(&make.replace("{b}", bound))).await;
        let report = report(&world, world.server.app_options()).await;
        match expected {
            None => assert_eq!(report.fatal().count(), 0, "{what}: {report}"),
            Some(code) => assert!(report.has(*code), "{what}: {report}"),
        }
        let drop_all = "do $$ declare p name; begin
            for p in select polname from pg_policy loop execute format('drop policy %I on note', p); end loop; end $$;
            drop function if exists public.current_setting(text, boolean);
            alter table note drop column if exists other; grant delete on note to app;
            do $$ begin drop owned by {role}; drop role {role}; exception when undefined_object then null; end $$";
        world.server.run(&world.named(drop_all)).await;
    }

    // P10a in the flesh: Postgres refuses the row that USING alone does not admit.
    world.server.run(&format!("create policy p on note using ({bound})")).await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let planted =
        sqlx::query("insert into note values (70, $1, 'x')").bind(world.life("globex").uuid()).execute(&acme).await;
    assert_eq!(planted.unwrap_err().as_database_error().unwrap().code().unwrap(), "42501");
}

/// P17 and relatives: names that need quotes, in every place.
#[tokio::test]
async fn odd_names_are_quoted_right() {
    let world = World::bare().await;
    world.server.run(&format!("revoke all on note, country from {APP}")).await;
    let own = world.life("acme").uuid();
    let foreign = world.life("globex").uuid();
    for (what, schema, table, column) in [
        ("a double quote", "we\"ird", "ta\"ble", "co\"l"),
        ("single quotes", "it's", "o'clock", "'"),
        ("spaces", "my schema", " two  spaces ", "tenant id"),
        ("upper case", "Schema", "Table", "Tenant_ID"),
        ("other scripts", "схема", "表", "größe"),
        ("keywords", "user", "select", "table"),
        ("a semicolon and a comment", "a;--", "b; drop table note; --", "c/*"),
        ("backslash and dollar", "back\\slash", "$$", "a\\'b"),
        ("sixty-three bytes", &"s".repeat(63), &"t".repeat(63), &"c".repeat(63)),
        ("what our parser splits at", "a.b", "and", "x = y or z"),
    ] {
        let q = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let declaration = Declaration::builder()
            .tenant_table(TenantTable::new(schema, table, column, RowKeyType::Uuid).unwrap())
            .build()
            .unwrap();
        let name = format!("{}.{}", q(schema), q(table));
        let make = format!("create schema {}; create table {name} ({} uuid not null, body text)", q(schema), q(column));
        world.server.run(&make).await;
        world.server.run(&(policy_sql(&declaration) + &policy_sql(&declaration) + &grant_sql(&declaration, APP))).await;
        world.server.run(&format!("insert into {name} values ('{own}', 'mine'), ('{foreign}', 'foreign')")).await;
        let database =
            Database::open(world.tenants.realm(), world.options(), &declaration).await.unwrap_or_else(|e| match e {
                PgError::Inspection(report) => panic!("{what}: {report}"),
                other => panic!("{what}: {other}"),
            });
        let acme = world.scoped(&database, "acme").await;
        let select = AssertSqlSafe(format!("select body from {name}"));
        let seen: Vec<String> = sqlx::query_scalar(select).fetch_all(&acme).await.unwrap();
        assert_eq!(seen, ["mine"], "{what}");
        world.server.run(&format!("drop schema {} cascade", q(schema))).await;
    }
    assert_eq!(world.rows_in_truth("true").await, 5, "nothing was run that was only a name");
}
