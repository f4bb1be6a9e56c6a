//! What goes around the policies of a table: views, copies, rules, functions in their owner's name.

use tenancy_pg::{Code, Database, Declaration, InspectPolicy, PgOptions, RowKeyType, Severity, TenantTable};

use crate::common::{World, scalar};
use crate::inspection::report;

/// Breaks, looks, mends as the finding says, looks again, and undoes the rest.
pub(crate) async fn each_mends_itself(world: &World, cases: &[(&str, &str, Code, Severity, &str)]) {
    for (what, break_it, code, severity, undo) in cases {
        world.server.run(&world.named(break_it)).await;
        let broken = report(world, world.server.app_options()).await;
        let found: Vec<_> = broken.findings.iter().filter(|finding| finding.code == *code).collect();
        assert!(!found.is_empty(), "{what}: {broken}");
        for finding in found {
            assert_eq!(finding.severity, *severity, "{what}: {finding}");
            assert!(finding.why.matches(". ").count() == 1, "{what}: two sentences: {finding}");
            world.server.run(&finding.fix).await;
        }
        let mended = report(world, world.server.app_options()).await;
        assert!(!mended.has(*code), "{what}: {mended}");
        world.server.run(&world.named(undo)).await;
    }
    assert_eq!(report(world, world.server.app_options()).await.fatal().count(), 0, "all undone");
}

/// These are found by nothing fatal.
async fn none_is_fatal(world: &World, cases: &[(&str, &str, &str)]) {
    for (what, make, undo) in cases {
        world.server.run(&world.named(make)).await;
        let report = report(world, world.server.app_options()).await;
        assert_eq!(report.fatal().count(), 0, "{what}: {report}");
        world.server.run(&world.named(undo)).await;
    }
}

/// P8 and its relatives: in whose name a view reads, through however many others.
#[tokio::test]
async fn views_are_judged_by_who_reads_through_them() {
    let world = World::new().await;
    let grant = "grant select on v to app";
    each_mends_itself(
        &world,
        &[
            ("P8: owned by a superuser", &format!("create view v as select * from note; {grant}"), Code::ViewUnheld, Severity::Fatal, "drop view v"),
            ("P8: made anew without the option", &format!("create view v with (security_invoker) as select * from note; {grant}; create or replace view v as select * from note"), Code::ViewUnheld, Severity::Fatal, "drop view v"),
            ("the option said no", &format!("create view v with (security_invoker = off) as select * from note; {grant}"), Code::ViewUnheld, Severity::Fatal, "drop view v"),
            ("owned by a role with BYPASSRLS", &format!("create role {{role}} bypassrls; grant select on note to {{role}}; create view v as select * from note; alter view v owner to {{role}}; {grant}"), Code::ViewUnheld, Severity::Fatal, "drop view v; revoke all on note from {role}; drop role {role}"),
            ("a role that an open policy is for", &format!("create role {{role}}; grant select on note to {{role}}; create policy o on note to {{role}} using (true); create view v as select * from note; alter view v owner to {{role}}; {grant}"), Code::ViewUnheld, Severity::Fatal, "drop view v; drop policy o on note; revoke all on note from {role}; drop role {role}"),
            ("an invoker's view of such a view", &format!("create view inner_view as select * from note; create view v with (security_invoker = true) as select * from inner_view; grant select on inner_view to app; {grant}"), Code::ViewUnheld, Severity::Fatal, "drop view v; drop view inner_view"),
            ("one that is only joined", &format!("create view v as select c.* from country c join note n on n.slug = c.code; {grant}"), Code::ViewUnheld, Severity::Fatal, "drop view v"),
            ("for writing", "create view v as select * from note; grant insert on v to app", Code::ViewUnheld, Severity::Fatal, "drop view v"),
            ("of one column", "create view v as select * from note; grant select (body) on v to app", Code::ViewUnheld, Severity::Fatal, "drop view v"),
            ("owned by the owner, whom FORCE holds", &format!("create view v as select * from note; alter view v owner to own; {grant}"), Code::ViewAsOwner, Severity::Warning, "drop view v"),
            ("a copy", "create materialized view v as select * from note; grant select on v to app", Code::MaterializedView, Severity::Fatal, "drop materialized view v"),
            ("a copy through a view", "create view inner_view as select * from note; create materialized view v as select * from inner_view; grant select on v to app", Code::MaterializedView, Severity::Fatal, "drop materialized view v; drop view inner_view"),
            ("a view of a copy", &format!("create materialized view m as select * from note; create view v as select * from m; {grant}"), Code::Undeclared, Severity::Fatal, "drop view v; drop materialized view m"),
            ("a copy of a table that nobody declared", &format!("create table other (x int); create materialized view v as select * from other; {grant}"), Code::Undeclared, Severity::Fatal, "drop materialized view v; drop table other"),
            ("a view of a table that nobody declared", &format!("create table other (x int); create view v as select * from other; {grant}"), Code::Undeclared, Severity::Fatal, "drop view v; drop table other"),
        ],
    )
    .await;
    none_is_fatal(
        &world,
        &[
            ("the invoker's", &format!("create view v with (security_invoker = true) as select * from note; {grant}"), "drop view v"),
            ("the invoker's, of the invoker's", &format!("create view i with (security_invoker) as select * from note; create view v with (security_invoker = on) as select * from i; grant select on i to app; {grant}"), "drop view v; drop view i"),
            ("of a global table", &format!("create view v as select * from country; {grant}"), "drop view v"),
            ("out of reach", "create view v as select * from note", "drop view v"),
        ],
    )
    .await;
    // In the flesh: what is called a leak is one, and what is not is none.
    let seen = async |sql: &str| {
        world.server.run(sql).await;
        let seen = scalar(&world.server.app_options(), "select count(*) from v").await;
        world.server.run("drop view v").await;
        seen
    };
    assert_eq!(seen(&format!("create view v as select * from note; {grant}")).await, 5);
    assert_eq!(seen(&format!("create view v as select * from note; alter view v owner to own; {grant}")).await, 0);
    assert_eq!(seen(&format!("create view v with (security_invoker) as select * from note; {grant}")).await, 0);
}

/// P7 and its relatives: a child is held by its own policies alone.
#[tokio::test]
async fn partitions_and_children_are_judged_by_their_own_policies() {
    let world = World::new().await;
    let bound = "tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid";
    let child = "create table child () inherits (note)";
    let hold = format!(
        "alter table child enable row level security; alter table child force row level security; create policy p on child using ({bound})"
    );
    each_mends_itself(
        &world,
        &[
            (
                "P7: bare",
                &format!("{child}; grant select on child to app"),
                Code::ChildReachable,
                Severity::Fatal,
                "drop table child",
            ),
            (
                "for writing",
                &format!("{child}; grant insert on child to app"),
                Code::ChildReachable,
                Severity::Fatal,
                "drop table child",
            ),
            (
                "one column",
                &format!("{child}; grant update (body) on child to app"),
                Code::ChildReachable,
                Severity::Fatal,
                "drop table child",
            ),
            (
                "through PUBLIC",
                &format!("{child}; grant delete on child to public"),
                Code::ChildReachable,
                Severity::Fatal,
                "drop table child",
            ),
            (
                "to empty it",
                &format!("{child}; grant truncate on child to app"),
                Code::ChildReachable,
                Severity::Fatal,
                "drop table child",
            ),
            (
                "row level security and an open policy",
                &format!("{child}; {hold}; create policy o on child using (true); grant select on child to app"),
                Code::ChildReachable,
                Severity::Fatal,
                "drop table child",
            ),
            (
                "a child of a child",
                &format!("{child}; create table grandchild () inherits (child); grant select on grandchild to app"),
                Code::ChildReachable,
                Severity::Fatal,
                "drop table grandchild; drop table child",
            ),
            (
                "held, and a right beyond policies",
                &format!("{child}; {hold}; grant select, truncate on child to app"),
                Code::TableRight,
                Severity::Fatal,
                "drop table child",
            ),
        ],
    )
    .await;
    none_is_fatal(
        &world,
        &[
            ("out of reach", child, "drop table child"),
            (
                "held by its own policy",
                &format!("{child}; {hold}; grant select, insert, update, delete on child to app"),
                "drop table child",
            ),
        ],
    )
    .await;
}

/// D9: rules act as the owner of their relation.
#[tokio::test]
async fn rules_are_found() {
    let world = World::new().await;
    world.server.run("alter table country owner to postgres").await;
    let also =
        "create rule r as on update to country do also update note set body = 'x'; grant update on country to app";
    for (what, make, expected, undo) in [
        (
            "that changes a tenant table as a superuser",
            also,
            Some(Severity::Fatal),
            "drop rule r on country; revoke update on country from app",
        ),
        (
            "that reads one",
            "create rule r as on insert to country do also insert into country select body from note",
            Some(Severity::Fatal),
            "drop rule r on country",
        ),
        (
            "on a tenant table, to itself, as its owner",
            "create rule r as on delete to note do instead update note set body = ''",
            Some(Severity::Warning),
            "drop rule r on note",
        ),
        (
            "that does nothing",
            "create rule r as on delete to country do instead nothing",
            Some(Severity::Warning),
            "drop rule r on country",
        ),
        ("none", "select 1", None, "select 1"),
    ] {
        world.server.run(make).await;
        let report = report(&world, world.server.app_options()).await;
        let found = report.findings.iter().find(|finding| finding.code == Code::RewriteRule);
        assert_eq!(found.map(|finding| finding.severity), expected, "{what}: {report}");
        world.server.run(undo).await;
    }
}

/// P9 and its relatives: what runs in its owner's name is read by somebody or found.
#[tokio::test]
async fn functions_in_their_owners_name_are_found_until_they_are_trusted() {
    let world = World::new().await;
    let pinned = "security definer set search_path = pg_catalog, pg_temp";
    let body = "as $$ select count(*) from public.note $$";
    each_mends_itself(
        &world,
        &[
            ("P9: owned by a superuser", &format!("create function f() returns bigint language sql {pinned} {body}"), Code::DefinerFunction, Severity::Fatal, "drop function f()"),
            ("with arguments", &format!("create function f(uuid, integer[]) returns bigint language sql {pinned} {body}"), Code::DefinerFunction, Severity::Fatal, "drop function f"),
            ("plpgsql", &format!("create function f() returns bigint language plpgsql {pinned} as $$ begin return 1; end $$"), Code::DefinerFunction, Severity::Fatal, "drop function f()"),
            ("a procedure", &format!("create procedure f() language sql {pinned} as $$ select 1 $$"), Code::DefinerFunction, Severity::Fatal, "drop procedure f()"),
            ("owned by the tables' owner", &format!("create function f() returns bigint language sql {pinned} {body}; alter function f() owner to own"), Code::DefinerFunction, Severity::Fatal, "drop function f()"),
            ("granted by name", &format!("create function f() returns bigint language sql {pinned} {body}; revoke all on function f() from public; grant execute on function f() to app"), Code::DefinerFunction, Severity::Fatal, "drop function f()"),
            ("a trigger", &format!("create function f() returns trigger language plpgsql {pinned} as $$ begin return new; end $$; create trigger t before insert on note for each row execute function f()"), Code::DefinerTrigger, Severity::Fatal, "drop trigger t on note; drop function f()"),
            ("a trigger on a global table", &format!("create function f() returns trigger language plpgsql {pinned} as $$ begin return new; end $$; create trigger t before update on country for each statement execute function f(); grant update on country to app; revoke all on function f() from public"), Code::DefinerTrigger, Severity::Fatal, "revoke update on country from app; drop trigger t on country; drop function f()"),
            ("no search path", &format!("create function f() returns bigint language sql security definer {body}"), Code::SearchPath, Severity::Fatal, "drop function f()"),
            ("the temporary schema first, unsaid", &format!("create function f() returns bigint language sql security definer set search_path = public {body}"), Code::SearchPath, Severity::Fatal, "drop function f()"),
            ("the temporary schema in the middle", &format!("create function f() returns bigint language sql security definer set search_path = public, pg_temp, pg_catalog {body}"), Code::SearchPath, Severity::Fatal, "drop function f()"),
            ("an empty one", &format!("create function f() returns bigint language sql security definer set search_path = '' {body}"), Code::SearchPath, Severity::Fatal, "drop function f()"),
            ("LEAKPROOF", "create function f(text) returns boolean language sql immutable leakproof as $$ select $1 = 'x' $$", Code::Leakproof, Severity::Fatal, "drop function f(text)"),
        ],
    )
    .await;
    none_is_fatal(
        &world,
        &[
            ("P9: the invoker's version", &format!("create function f() returns bigint language sql {body}"), "drop function f()"),
            ("out of reach", &format!("create function f() returns bigint language sql security definer {body}; revoke all on function f() from public"), "drop function f()"),
            ("in a schema out of reach", "create schema apart; create function apart.f() returns int language sql security definer as 'select 1'", "drop schema apart cascade"),
            ("a trigger that is off", &format!("create function f() returns trigger language plpgsql {pinned} as $$ begin return new; end $$; create trigger t before insert on note for each row execute function f(); alter table note disable trigger t"), "drop trigger t on note; drop function f()"),
        ],
    )
    .await;

    // Trusted by name and types, and only so; its search path still has to be pinned.
    world.server.run(&format!("create function f(uuid, integer) returns bigint language sql {pinned} {body}")).await;
    for (signature, fatal) in [
        ("f(uuid, integer)", false),
        ("f(uuid,integer)", false),
        ("f(uuid, int)", true),
        ("f(uuid)", true),
        ("f()", true),
        ("F(uuid, integer)", true),
        ("g(uuid, integer)", true),
    ] {
        let declaration = Declaration::builder()
            .tenant_table(TenantTable::new("public", "note", "tenant_id", RowKeyType::Uuid).unwrap())
            .global_table("public", "country")
            .trusted_function("public", signature, "counts only")
            .build()
            .unwrap();
        let database =
            Database::connect(world.tenants.realm(), PgOptions::new(world.server.app_options())).await.unwrap();
        let report = database.report(&declaration, InspectPolicy::new()).await.unwrap();
        assert_eq!(report.has(Code::DefinerFunction), fatal, "{signature}: {report}");
        assert_eq!(report.fatal().count(), usize::from(fatal), "{signature}: {report}");
    }
}
