//! P1 and its relatives: no tenant set, on connections of every age.
//!
//! A setting that was never set is NULL, and one that was set for a transaction is an empty text ever after. Policies that
//! don't expect both fail on a used connection, or open.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor};
use tenancy_pg::{Code, policy_sql};

use crate::common::{ACME, World, bodies};
use crate::inspection::report;

/// The mechanism, the policy, how many of the five rows a service without this crate sees with no tenant set (or the
/// SQLSTATE) on a fresh and on a used connection, and what the inspection says.
type Case = (&'static str, &'static str, &'static str, &'static str, Code);

const FAILS: Code = Code::PolicyEmptySetting;
const OPENS: Code = Code::PolicyUnbound;

const CASES: &[Case] = &[
    (
        "P1: a cast without NULLIF",
        "using (tenant_id = current_setting('tenancy.row_key', true)::uuid)",
        "0",
        "22P02",
        FAILS,
    ),
    (
        "without missing_ok: it fails either way",
        "using (tenant_id = current_setting('tenancy.row_key')::uuid)",
        "42704",
        "22P02",
        FAILS,
    ),
    (
        "once for all rows, in a select",
        "using ((select cast(current_setting('tenancy.row_key', true) as uuid)) = tenant_id)",
        "0",
        "22P02",
        FAILS,
    ),
    (
        "beside a condition that is cheaper",
        "using (tenant_id = current_setting('tenancy.row_key', true)::uuid and id > 0)",
        "0",
        "22P02",
        FAILS,
    ),
    (
        "in what may be written only",
        "using ({right}) with check (tenant_id = current_setting('tenancy.row_key', true)::uuid)",
        "0",
        "0",
        FAILS,
    ),
    ("in a function of one's own", "using (tenant_id = naive())", "0", "22P02", FAILS),
    (
        "opened for whatever is not set",
        "using (coalesce(current_setting('tenancy.row_key', true), '') = '' or {right})",
        "5",
        "5",
        OPENS,
    ),
    (
        "opened for the missing setting: fresh connections only",
        "using (current_setting('tenancy.row_key', true) is null or {right})",
        "5",
        "0",
        OPENS,
    ),
    (
        "opened for the empty one: used connections only",
        "using (current_setting('tenancy.row_key', true) = '' or {right})",
        "0",
        "5",
        OPENS,
    ),
    (
        "opened by the branch of a CASE",
        "using (case when current_setting('tenancy.row_key', true) = '' then true else {right} end)",
        "0",
        "5",
        OPENS,
    ),
    (
        "a tenant for whoever sets none",
        "using (tenant_id = coalesce(nullif(current_setting('tenancy.row_key', true), ''), '{acme}')::uuid)",
        "2",
        "2",
        OPENS,
    ),
    ("a function that swallows the error and has a default", "using (tenant_id = swallows())", "2", "2", OPENS),
    (
        "a list, which is empty, or has more than one",
        "using (tenant_id = any (string_to_array(current_setting('tenancy.row_key', true), ',')::uuid[]))",
        "0",
        "0",
        OPENS,
    ),
];

const RIGHT: &str = "tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid";

#[tokio::test]
async fn an_empty_setting_shows_no_row_and_what_fails_or_opens_on_it_is_found() {
    let world = World::bare().await;
    let own = world.life("acme").uuid();
    world
        .server
        .run_as_owner(&format!(
            "alter table note enable row level security; alter table note force row level security;
             create function naive() returns uuid language sql stable
                 as $$ select current_setting('tenancy.row_key', true)::uuid $$;
             create function swallows() returns uuid language plpgsql stable as $$
                 begin return current_setting('tenancy.row_key')::uuid; exception when others then return '{own}'; end $$"
        ))
        .await;
    for (what, policy, fresh, used, code) in CASES {
        let policy = policy.replace("{right}", RIGHT).replace("{acme}", &own.to_string());
        world.server.run_as_owner(&format!("create policy naive on note {policy}")).await;
        assert_eq!(as_others_meet_it(&world).await, [*fresh, *used], "{what}");
        let found = report(&world, world.server.app_options()).await;
        assert!(found.has(*code), "{what}: {found}");
        let other = if *code == FAILS { OPENS } else { FAILS };
        assert!(!found.has(other), "{what}: {found}");
        // The right one beside it.
        world.server.run_as_owner("drop policy naive on note").await;
        world.server.run_as_owner(&format!("create policy correct on note using ({RIGHT})")).await;
        assert_eq!(as_others_meet_it(&world).await, ["0", "0"], "{what}: the right one");
        let found = report(&world, world.server.app_options()).await;
        assert!(found.fatal().count() == 0 && !found.has(FAILS), "{what}: the right one: {found}");
        world.server.run_as_owner("drop policy correct on note").await;
    }

    world.server.run_as_owner(&policy_sql(&world.declaration)).await;
    assert_eq!(as_others_meet_it(&world).await, ["0", "0"], "the generated one");
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globals = database.untenanted();
    let nobody = async || {
        let rows = sqlx::query("select * from note").fetch_all(&globals).await.unwrap();
        rows.len()
    };
    assert_eq!(nobody().await, 0, "a fresh connection");
    assert_eq!(bodies(&acme).await, ACME);
    assert_eq!(nobody().await, 0, "one that was used and committed");
    acme.begin().await.unwrap().rollback().await.unwrap();
    assert_eq!(nobody().await, 0, "one that was used and rolled back");
    drop(acme.begin().await.unwrap());
    assert_eq!(nobody().await, 0, "one that was rolled back behind the scenes");
    let _failed = sqlx::query("select 1/0").execute(&acme).await;
    assert_eq!(nobody().await, 0, "one whose transaction was aborted");
}

/// On one connection: no tenant set; one set for a transaction; none again.
async fn as_others_meet_it(world: &World) -> [String; 2] {
    let mut raw = PgConnection::connect_with(&world.server.app_options()).await.unwrap();
    let fresh = seen(&mut raw).await;
    let own = world.life("acme").uuid();
    raw.execute(AssertSqlSafe(format!("begin; set local \"tenancy.row_key\" = '{own}'; commit"))).await.unwrap();
    let used = seen(&mut raw).await;
    raw.close().await.unwrap();
    [fresh, used]
}

async fn seen(raw: &mut PgConnection) -> String {
    match sqlx::query("select * from note").fetch_all(raw).await {
        Ok(rows) => rows.len().to_string(),
        Err(error) => error.as_database_error().unwrap().code().unwrap().into_owned(),
    }
}
