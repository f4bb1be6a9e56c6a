//! What is beneath the tables, and what reaches a tenant table by way of another: a parent, a chain of keys, a copy.

use tenancy_pg::{Code, Severity, hardening_sql};
use tenancy_testkit::{APP, ThrowawayPostgres};

use crate::common::{World, scalar};
use crate::inspection::report;
use crate::inspection_of_objects::each_mends_itself;

/// Predefined roles and grants below the policies.
#[tokio::test]
async fn what_the_server_keeps_beneath_the_tables_is_found() {
    // What the service's role is a member of is the cluster's.
    let server = ThrowawayPostgres::start().await.unwrap();
    let world = World::on(&server).await;
    let toast = |change: &str| {
        format!(
            "do $$ begin execute (select format('{change}', reltoastrelid::regclass) from pg_class where oid = 'note'::regclass); end $$"
        )
    };
    let granted = toast("grant select on %s to app");
    let of_role = "alter role app noinherit; create role {role}; grant {role} to app";
    let undo_role = "drop owned by {role}; drop role {role}; alter role app inherit";
    each_mends_itself(
        &world,
        &[
            ("samples of each column", "grant select on pg_statistic to app", Code::BeneathTables, Severity::Fatal, ""),
            (
                "one column of them, through PUBLIC",
                "grant select (stavalues1) on pg_statistic to public",
                Code::BeneathTables,
                Severity::Fatal,
                "",
            ),
            (
                "samples of several columns",
                "grant select on pg_statistic_ext_data to app",
                Code::BeneathTables,
                Severity::Fatal,
                "",
            ),
            (
                "large objects past their rights",
                "grant select on pg_largeobject to app",
                Code::BeneathTables,
                Severity::Fatal,
                "",
            ),
            (
                "passwords",
                &format!("{of_role}; grant select on pg_authid to {{role}}"),
                Code::BeneathTables,
                Severity::Fatal,
                undo_role,
            ),
            (
                "long values",
                &format!("{granted}; grant usage on schema pg_toast to app"),
                Code::BeneathTables,
                Severity::Fatal,
                "revoke usage on schema pg_toast from app",
            ),
            (
                "files",
                "grant execute on function pg_read_binary_file(text) to app",
                Code::BeneathTables,
                Severity::Fatal,
                "",
            ),
            (
                "files, by a role between",
                &format!("{of_role}; grant execute on function pg_read_file(text, bigint, bigint) to {{role}}"),
                Code::BeneathTables,
                Severity::Fatal,
                undo_role,
            ),
            ("all of it", "grant pg_read_all_data to app", Code::PredefinedRole, Severity::Fatal, ""),
            (
                "all of it, for a role that app can become",
                &format!("{of_role}; grant pg_read_all_data to {{role}}"),
                Code::PredefinedRole,
                Severity::Fatal,
                "drop role {role}; alter role app inherit",
            ),
        ],
    )
    .await;

    // In the flesh: values too long for their row, none of which the policy shows.
    let long = "update note set body = (select string_agg(gen_random_uuid()::text, '') from generate_series(1, 300))";
    world.server.run(&format!("{long}; analyze note; grant pg_read_all_data to {APP}")).await;
    let app = world.server.app_options();
    assert_eq!(scalar(&app, "select count(*) from note").await, 0);
    assert!(scalar(&app, &toast_sql(&world).await).await >= 5);
    assert!(scalar(&app, "select count(*) from pg_statistic where starelid = 'note'::regclass").await > 0);
    world.server.run(&format!("revoke pg_read_all_data from {APP}")).await;
    assert_eq!(report(&world, app).await.fatal().count(), 0);
}

/// Counts the chunks beneath the table.
async fn toast_sql(world: &World) -> String {
    let table = scalar(&world.server.superuser_options(), "select 'note'::regclass::oid::bigint").await;
    format!("select count(*) from pg_toast.pg_toast_{table}")
}

/// A parent, a copy behind a view, a schema of the server's: what is declared global gives no tenant's rows.
#[tokio::test]
async fn a_global_relation_gives_no_tenants_rows_by_whatever_way() {
    let world = World::new().await;
    let aside = "alter table country rename to real; revoke all on real from app";
    let back = "alter table real rename to country; grant select on country to app";
    let parent = "alter table country rename to country_of_old; revoke all on country_of_old from app;
        create table country (tenant_id uuid not null, body text not null); grant select on country to app";
    let no_parent =
        "drop table country cascade; alter table country_of_old rename to country; grant select on country to app";
    each_mends_itself(
        &world,
        &[
            ("it is a parent of the table", &format!("{parent}; alter table note inherit country"), Code::GlobalReadsTenant, Severity::Fatal, &format!("alter table note no inherit country; {no_parent}")),
            ("it is a parent of a parent", &format!("{parent}; create table middle () inherits (country); alter table note inherit middle"), Code::GlobalReadsTenant, Severity::Fatal, &format!("alter table note no inherit middle; {no_parent}")),
            ("a view of such a parent", &format!("{aside}; create table top (body text not null); alter table note inherit top; create view country as select body as code from top; grant select on country to app"), Code::GlobalReadsTenant, Severity::Fatal, &format!("drop view country; alter table note no inherit top; drop table top; {back}")),
            ("a view of a copy", &format!("{aside}; create materialized view copy as select body as code from note; create view country as select * from copy; grant select on country to app"), Code::GlobalReadsTenant, Severity::Fatal, &format!("drop view country; drop materialized view copy; {back}")),
            ("a copy of a copy", &format!("{aside}; create materialized view copy as select body as code from note; create materialized view country as select * from copy; grant select on country to app"), Code::GlobalReadsTenant, Severity::Fatal, &format!("drop materialized view country; drop materialized view copy; {back}")),
            ("a view in a schema of the server's", "create view information_schema.v as select * from note; grant select on information_schema.v to app", Code::ViewUnheld, Severity::Fatal, "drop view information_schema.v"),
        ],
    )
    .await;

    // In the flesh, and the parent that has no tenants' rows is none.
    let rows = "select count(*) from country";
    world.server.run(&format!("{parent}; create table child () inherits (country)")).await;
    assert_eq!(report(&world, world.server.app_options()).await.fatal().count(), 0);
    world.server.run("alter table note inherit country").await;
    assert_eq!(scalar(&world.server.app_options(), "select count(*) from note").await, 0);
    assert_eq!(scalar(&world.server.app_options(), rows).await, 5);
}

/// A key acts past every policy and every right, over as many tables as there are.
#[tokio::test]
async fn what_a_key_carries_on_is_followed_to_the_tenants_rows() {
    let world = World::new().await;
    let chain = |first: &str, second: &str| {
        format!(
            "create table middle (code text primary key default 'at' references country {first});
             insert into middle values ('ch'), ('at'); alter table note add place text default 'at' references middle {second};
             update note set place = 'ch'; grant delete on country to app"
        )
    };
    let undo = "alter table note drop column place; drop table middle; revoke delete on country from app";
    let twice = "create table outer_middle (code text primary key references country on delete cascade);
        create table middle (code text primary key references outer_middle on delete cascade);
        alter table note add place text references middle on delete set null; grant delete on country to app";
    let row_key = "nullif(current_setting('tenancy.row_key', true), '')::uuid";
    let globex = format!("'{}'", world.life("globex").uuid());
    let moved = |default: &str, action: &str| {
        format!(
            "alter table note alter tenant_id set default {default}, add p text default 'a',
                 add constraint f foreign key (tenant_id, p) references note (tenant_id, slug) {action}"
        )
    };
    let unmoved = "alter table note drop column p, alter tenant_id drop default";
    each_mends_itself(
        &world,
        &[
            ("by way of a table out of reach", &chain("on delete cascade", "on delete cascade"), Code::KeyCarriesOn, Severity::Fatal, undo),
            ("what is deleted first sets a default", &chain("on delete set default", "on update cascade"), Code::KeyCarriesOn, Severity::Fatal, undo),
            ("by way of two", twice, Code::KeyCarriesOn, Severity::Fatal, "alter table note drop column place; drop table middle, outer_middle; revoke delete on country from app"),
            ("the row goes to the tenant that a default names", &moved(&globex, "on delete set default"), Code::KeyCarriesOn, Severity::Fatal, unmoved),
            ("named among the columns", &moved(&globex, "on delete set default (tenant_id, p)"), Code::KeyCarriesOn, Severity::Fatal, unmoved),
        ],
    )
    .await;
    for (what, make, undo) in [
        ("the chain ends", chain("on delete cascade", "on delete restrict"), undo),
        ("what is deleted only updates", chain("on delete set default", "on delete cascade"), undo),
        ("the columns are others", moved(&globex, "on delete set default (p)"), unmoved),
        ("the default is the row key", moved(row_key, "on delete set default"), unmoved),
    ] {
        world.server.run(&make).await;
        let report = report(&world, world.server.app_options()).await;
        assert_eq!(report.fatal().count(), 0, "{what}: {report}");
        world.server.run(undo).await;
    }

    // In the flesh: a tenant's row becomes another's, when the one that it refers to goes.
    world.server.run(&moved(&globex, "on delete set default")).await;
    let acme = world.life("acme").uuid();
    let delete = "update note set slug = 'own' where id = 2; delete from note where id = 1";
    world.server.run(&format!("set role app; set tenancy.row_key = '{acme}'; {delete}; reset role; {unmoved}")).await;
    assert_eq!(world.rows_in_truth(&format!("id = 2 and tenant_id = {globex}")).await, 1);

    // And a role without a scope, and without a right on the table between, deletes every tenant's rows.
    world.server.run(&chain("on delete cascade", "on delete cascade")).await;
    let delete = "with gone as (delete from country returning 1) select count(*) from gone";
    assert_eq!(scalar(&world.server.app_options(), delete).await, 2);
    assert_eq!(world.rows_in_truth("true").await, 0);
}

/// What runs in its owner's name without being called by its name.
#[tokio::test]
async fn a_function_in_its_owners_name_is_found_behind_what_runs_it() {
    let world = World::new().await;
    let pinned = "security definer set search_path = pg_catalog, pg_temp";
    let body =
        "as $$ select string_agg(body, ',' order by id) from public.note $$; revoke all on function f from public";
    let step = format!("create function f(text, int) returns text language sql {pinned} {body}");
    let last = format!("create function f(text) returns text language sql {pinned} {body}");
    let plain = "create function plain(text, int) returns text language sql as $$ select $1 $$";
    let fires = format!(
        "create function f() returns trigger language plpgsql {pinned} as $$ begin return new; end $$; revoke all on function f from public"
    );
    each_mends_itself(
        &world,
        &[
            ("the step of an aggregate", &format!("{step}; create aggregate all_of(int) (sfunc = f, stype = text)"), Code::DefinerFunction, Severity::Fatal, "drop aggregate all_of(int); drop function f(text, int)"),
            ("its last function", &format!("{last}; {plain}; create aggregate all_of(int) (sfunc = plain, stype = text, finalfunc = f)"), Code::DefinerFunction, Severity::Fatal, "drop aggregate all_of(int); drop function f(text), plain(text, int)"),
            ("the step over a moving window", &format!("{step}; {plain}; create aggregate all_of(int) (sfunc = plain, stype = text, msfunc = f, minvfunc = plain, mstype = text)"), Code::DefinerFunction, Severity::Fatal, "drop aggregate all_of(int); drop function f(text, int), plain(text, int)"),
            ("a trigger on a child", &format!("{fires}; create table child () inherits (note); create trigger t before update on child for each row execute function f()"), Code::DefinerTrigger, Severity::Fatal, "drop table child; drop function f()"),
            ("on a table behind a view", &format!("{fires}; create table behind (code text); create trigger t before insert on behind for each row execute function f(); alter table country rename to real; revoke all on real from app; create view country as select * from behind; grant insert on country to app"), Code::DefinerTrigger, Severity::Fatal, "drop view country; drop table behind; drop function f(); alter table real rename to country; grant select on country to app"),
            ("on a table that a key carries it on to", &format!("{fires}; create table log (code text references country on delete cascade); create trigger t after delete on log for each row execute function f(); grant delete on country to app"), Code::DefinerTrigger, Severity::Fatal, "drop table log; drop function f(); revoke delete on country from app"),
        ],
    )
    .await;

    // In the flesh: whoever may not run the function runs the aggregate.
    world.server.run(&format!("{step}; create aggregate all_of(int) (sfunc = f, stype = text)")).await;
    let app = world.server.app_options();
    assert_eq!(scalar(&app, "select has_function_privilege('f(text, int)', 'execute')::int::bigint").await, 0);
    assert_eq!(scalar(&app, "select length(all_of(1))::bigint").await, 52);
    world.server.run("revoke all on function all_of(int) from public").await;
    assert_eq!(report(&world, app).await.fatal().count(), 0, "out of reach");
}

/// An extension's, by what it runs and not by its name.
#[tokio::test]
async fn an_extensions_function_that_runs_text_is_found() {
    let world = World::new().await;
    world.server.run(&hardening_sql()).await;
    for (extension, functions, way) in [
        ("tablefunc", 10, "select count(*) from crosstab('select 1, 2, 3') as t(a int, b int)"),
        (
            "xml2",
            1,
            "select count(*) from xpath_table('id', 'body', 'note', '/a', 'false; select 1, ''<a/>''') as t(id int, a text)",
        ),
        ("dblink", 8, "select 1::bigint"),
    ] {
        let there = format!("select count(*) from pg_available_extensions where name = '{extension}'");
        if scalar(&world.server.superuser_options(), &there).await == 0 {
            println!("{extension} is not here");
            continue;
        }
        world.server.run(&format!("create extension {extension}")).await;
        let found = report(&world, world.server.app_options()).await;
        let found: Vec<_> = found.findings.into_iter().filter(|finding| finding.code == Code::NotHardened).collect();
        assert_eq!(found.len(), functions, "{extension}: {found:#?}");
        assert_eq!(scalar(&world.server.app_options(), way).await, 1, "{extension}: it runs the text");
        for finding in found {
            world.server.run(&finding.fix).await;
        }
        assert!(!report(&world, world.server.app_options()).await.has(Code::NotHardened), "{extension}");
        world.server.run(&format!("drop extension {extension}")).await;
    }
}
