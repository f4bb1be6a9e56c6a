//! From an ill-shaped database to one that the inspection passes, and back.

use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};
use tenancy_pg::{Database, Declaration, InspectPolicy, Migration, PgOptions, Roles, RowKeyType, TenantTable};
use tenancy_testkit::{APP, TestDatabase, TestTenants, ThrowawayPostgres};

use crate::catalog::{difference, dump};

/// What the service needs and no more, without any policy.
const TABLES: &str = "
    create table parent (id int primary key, tenant_id uuid not null, email text unique);
    create table child (id int primary key, tenant_id uuid not null, parent_id int, code text);
    create index on parent (tenant_id); create index on child (tenant_id);
    create table country (code text primary key);
    grant select, insert, update, delete on parent, child to app; grant select on country to app;";
const GOOD: &str = "
    alter table parent enable row level security; alter table parent force row level security;
    alter table child enable row level security; alter table child force row level security;
    create policy mine on parent using (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid);
    create policy mine on child using (tenant_id = (select nullif(current_setting('tenancy.row_key', true), '')::uuid));";

fn table(name: &str) -> TenantTable {
    TenantTable::new("public", name, "tenant_id", RowKeyType::Uuid).unwrap()
}

fn declaration() -> Declaration {
    let builder = Declaration::builder().tenant_table(table("parent")).tenant_table(table("child"));
    builder.global_table("public", "country").build().unwrap()
}

async fn database(make: &str) -> TestDatabase {
    let server = ThrowawayPostgres::shared().await.fresh_database().await;
    server.run(&format!("set role own; {make}")).await;
    server
}

async fn fatal(tenants: &TestTenants, server: &TestDatabase, declaration: &Declaration) -> Vec<String> {
    let options = PgOptions::new(server.app_options());
    let database = Database::connect(tenants.realm(), options).await.unwrap();
    let report = database.report(declaration, InspectPolicy::new()).await.unwrap();
    report.fatal().map(|finding| format!("{:?} {}", finding.code, finding.object)).collect()
}

async fn diff(server: &TestDatabase, declaration: &Declaration) -> Migration {
    Migration::diff(server.owner_options(), declaration, &Roles::new(APP)).await.unwrap()
}

/// Each is one or more faults; the migration mends them all, and nothing is left to do after it.
#[tokio::test]
async fn every_ill_shape_is_brought_to_one_that_passes() {
    let tenants = TestTenants::new().await;
    let declaration = declaration();
    for (what, ill, steps) in [
        (
            "no row level security at all",
            "drop policy mine on child; alter table child disable row level security; alter table child no force row level security",
            3,
        ),
        ("without FORCE", "alter table parent no force row level security", 1),
        ("enabled and no policy", "drop policy mine on parent", 1),
        ("an open policy beside", "create policy support on parent for select using (true)", 1),
        ("a check that lets everything in", "alter policy mine on child with check (true)", 1),
        (
            "a bypass by another setting",
            "create policy bypass on child using (current_setting('app.bypass', true) = 'on')",
            1,
        ),
        (
            "an error on the empty text",
            "alter policy mine on parent using (tenant_id = current_setting('tenancy.row_key', true)::uuid)",
            2,
        ),
        (
            "a policy for one command only",
            "drop policy mine on child; create policy mine on child for select using (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid)",
            1,
        ),
        ("a column that may be null", "alter table child alter tenant_id drop not null", 1),
        ("no column, in an empty table", "drop policy mine on child; alter table child drop column tenant_id", 3),
        ("a foreign key between tenants", "alter table child add foreign key (parent_id) references parent", 3),
        (
            "one with cascades, and one to itself",
            "alter table child add foreign key (parent_id) references parent on delete set null (parent_id) on update cascade deferrable; alter table parent add up int references parent on delete cascade",
            6 - 1,
        ),
        (
            "rights that go past policies",
            "grant truncate, trigger, references on parent to app; grant truncate on child to public",
            4,
        ),
        ("a right on one column", "grant references (id) on parent to app", 1),
        (
            "a right through a role",
            "reset role; create role {role}; grant {role} to app; set role own; grant trigger on child to {role}",
            1,
        ),
        ("a table nobody declared", "create table secret (x int); grant select, insert on secret to app", 2),
        (
            "a view and a materialized one of the owner's",
            "create view all_parents as select * from parent; create materialized view counts as select count(*) from parent; grant select on all_parents, counts to app",
            2,
        ),
        (
            "a right on one column of such a table",
            "create table secret (x int, y int); grant select (x) on secret to public",
            1,
        ),
        (
            "a partition within reach",
            "drop table child; create table child (id int, tenant_id uuid not null, parent_id int) partition by hash (tenant_id); create table child_0 partition of child for values with (modulus 1, remainder 0); create index on child (tenant_id); grant select, insert, update, delete on child, child_0 to app; alter table child enable row level security; alter table child force row level security; create policy mine on child using (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid)",
            7,
        ),
        ("too few rights", "revoke all on parent, country from app", 2),
        ("a right to create", "grant create on schema public to app", 1),
        ("the service owns a table", "reset role; grant app to own; alter table parent owner to app; set role own", 2),
    ] {
        let server = database(&format!("{TABLES}{GOOD}")).await;
        assert!(diff(&server, &declaration).await.is_empty(), "{what}: the policies of somebody's own conform");
        let role = format!("role_of_{}", server.name());
        server.run(&format!("set role own; {}", ill.replace("{role}", &role))).await;
        let before = dump(&server).await;
        let found = fatal(&tenants, &server, &declaration).await;
        assert!(!found.is_empty() || what == "too few rights", "{what}: not even a fault");
        let migration = diff(&server, &declaration).await;
        assert_eq!(migration.steps().len(), steps, "{what}:\n{}", migration.up());
        assert_eq!(difference(&before, &dump(&server).await), [""; 0], "{what}: comparing changes nothing");
        server.run_as_owner(&migration.up()).await;
        assert_eq!(fatal(&tenants, &server, &declaration).await, [""; 0], "{what}\n{}", migration.up());
        let left = diff(&server, &declaration).await;
        assert!(left.is_empty(), "{what}: once is enough\n{}", left.up());
        if what == "the service owns a table" {
            server.run(&migration.down()).await; // what a superuser did, a superuser takes back
        } else {
            server.run_as_owner(&migration.down()).await;
        }
        assert_eq!(difference(&before, &dump(&server).await), [""; 0], "{what}: not taken back\n{}", migration.down());
        server.run("drop schema public cascade; revoke app from own").await;
        server.run(&format!("drop role if exists {role}")).await;
    }
}

/// P11, P12: keys that compare tenants, where they are wanted.
#[tokio::test]
async fn keys_are_led_by_the_row_key_where_it_is_wanted() {
    let tenants = TestTenants::new().await;
    let (acme, globex) = (tenants.life("acme").uuid(), tenants.life("globex").uuid());
    let declaration = Declaration::builder()
        .tenant_table(table("parent").composite_keys())
        .tenant_table(table("child").composite_keys())
        .global_table("public", "country")
        .build()
        .unwrap();
    for (what, make, taken) in [
        ("a primary key", "select 1", "insert into parent values (1, '{globex}', 'other')"),
        ("a unique constraint", "select 1", "insert into parent values (9, '{globex}', 'a@b')"),
        (
            "a unique index",
            "create unique index on child (code)",
            "insert into child values (9, '{globex}', null, 'x')",
        ),
        (
            "one of an expression",
            "create unique index on child (lower(code))",
            "insert into child values (9, '{globex}', null, 'X')",
        ),
        (
            "one of some rows",
            "create unique index \"its index\" on child (code) where id > 0",
            "insert into child values (9, '{globex}', null, 'x')",
        ),
        (
            "nulls are equal",
            "alter table child add constraint c unique nulls not distinct (parent_id)",
            "insert into child values (9, '{globex}', 1, 'x')",
        ),
        (
            "one that carries a column along",
            "create unique index on child (code) include (id)",
            "insert into child values (9, '{globex}', null, 'x')",
        ),
        (
            "a key that another one needs",
            "alter table child add foreign key (parent_id) references parent",
            "insert into parent values (1, '{globex}', 'other')",
        ),
    ] {
        let server = database(&format!("{TABLES}{GOOD}{make}")).await;
        server
            .run(&format!(
                "insert into parent values (1, '{acme}', 'a@b'); insert into child values (1, '{acme}', 1, 'x')"
            ))
            .await;
        let before = dump(&server).await;
        let taken = taken.replace("{globex}", &globex.to_string());
        let mut truth = PgConnection::connect_with(&server.superuser_options()).await.unwrap();
        let refused = truth.execute(sqlx::AssertSqlSafe(taken.clone())).await.unwrap_err();
        assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "23505", "{what}: the oracle is there");

        let migration = diff(&server, &declaration).await;
        server.run_as_owner(&migration.up()).await;
        truth.execute(sqlx::AssertSqlSafe(format!("begin; {taken}; rollback"))).await.unwrap();
        let twice = taken.replace(&globex.to_string(), &acme.to_string());
        let refused = truth.execute(sqlx::AssertSqlSafe(twice)).await.unwrap_err();
        assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "23505", "{what}: within a tenant it stays");
        truth.close().await.unwrap();
        assert_eq!(fatal(&tenants, &server, &declaration).await, [""; 0], "{what}");
        assert!(diff(&server, &declaration).await.is_empty(), "{what}");
        server.run_as_owner(&migration.down()).await;
        assert_eq!(difference(&before, &dump(&server).await), [""; 0], "{what}: not taken back");
    }
}

/// Under FORCE an owner sees no row, so a check of the rows that are there would find all well.
#[tokio::test]
async fn a_new_foreign_key_checks_the_rows_that_are_there() {
    let tenants = TestTenants::new().await;
    let (acme, globex) = (tenants.life("acme").uuid(), tenants.life("globex").uuid());
    let server =
        database(&format!("{TABLES}{GOOD} alter table child add foreign key (parent_id) references parent")).await;
    let crossing = format!("insert into parent values (1, '{acme}'); insert into child values (1, '{globex}', 1)");
    server.run(&crossing).await;
    let before = dump(&server).await;
    let migration = diff(&server, &declaration()).await;
    let mut owner = PgConnection::connect_with(&server.owner_options()).await.unwrap();
    let refused = owner.execute(sqlx::AssertSqlSafe(migration.up())).await.unwrap_err();
    assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "23503", "a row of globex refers to one of acme");
    owner.close().await.unwrap();
    assert_eq!(difference(&before, &dump(&server).await), [""; 0], "and nothing was changed");
    server.run("delete from child").await;
    server.run_as_owner(&migration.up()).await;
    assert_eq!(fatal(&tenants, &server, &declaration()).await, [""; 0]);
}

/// What a declaration says beside tables: it comes, it changes, it goes.
#[tokio::test]
async fn declared_roles_come_and_go() {
    let server = database(&format!("{TABLES}{GOOD}")).await;
    let with = |until: &str| {
        let builder = Declaration::builder().tenant_table(table("parent")).tenant_table(table("child"));
        let builder = builder.global_table("public", "country").report("public", "parent", ["id", "tenant_id"]);
        builder.legacy_role("control", until, "the monolith").build().unwrap()
    };
    let roles = Roles::new(APP).report("analyst");
    server.run("do $$ begin create role analyst; exception when duplicate_object then null; end $$").await;
    let before = dump(&server).await;
    for (until, steps) in [("2099-01-01", 4), ("2098-12-31", 4), ("2098-12-31", 0)] {
        let migration = Migration::diff(server.owner_options(), &with(until), &roles).await.unwrap();
        assert_eq!(migration.steps().len(), steps, "{until}\n{}", migration.up());
        server.run_as_owner(&migration.up()).await;
    }
    let back = Migration::diff(server.owner_options(), &declaration(), &roles).await.unwrap();
    server.run_as_owner(&back.up()).await;
    assert_eq!(difference(&before, &dump(&server).await), [""; 0]);
}

/// A view that shows what the declared tables show, as whoever asks, needs no declaration: to the inspection and here.
#[tokio::test]
async fn a_right_to_read_a_view_of_declared_tables_stays() {
    let tenants = TestTenants::new().await;
    let declaration = declaration();
    let invoker = "with (security_invoker = true) as select";
    for (what, make, stays) in [
        ("of a tenant table", format!("create view v {invoker} id from parent; grant select on v to app"), true),
        (
            "a right on a column",
            format!("create view v {invoker} id, email from parent; grant select (id) on v to app"),
            true,
        ),
        ("of everybody", format!("create view v {invoker} id from parent; grant select on v to public"), true),
        (
            "the option as on",
            "create view v with (security_invoker = on) as select id from parent; grant select on v to app".to_owned(),
            true,
        ),
        (
            "of two, and a global one",
            format!("create view v {invoker} p.id from parent p, child c, country; grant select on v to app"),
            true,
        ),
        (
            "of such a view",
            format!(
                "create view w {invoker} id from parent; create view v {invoker} id from w; grant select on v, w to app"
            ),
            true,
        ),
        (
            "of a global table, as its owner",
            "create view v as select code from country; grant select on v to app".to_owned(),
            true,
        ),
        ("as its owner", "create view v as select id from parent; grant select on v to app".to_owned(), false),
        (
            "the option is off",
            "create view v with (security_invoker = false) as select id from parent; grant select on v to app"
                .to_owned(),
            false,
        ),
        (
            "of a view that reads as its owner",
            format!(
                "create view w as select id from parent; create view v {invoker} id from w; grant select on v, w to app"
            ),
            false,
        ),
        (
            "of a table that nobody declared",
            format!(
                "create table secret (id int); create view v {invoker} s.id from secret s, parent; grant select on v to app"
            ),
            false,
        ),
        (
            "of a copy",
            format!(
                "create materialized view m as select id from parent; create view v {invoker} id from m; grant select on v to app"
            ),
            false,
        ),
        ("of nothing", format!("create view v {invoker} 1; grant select on v to app"), false),
        (
            "to write through it",
            format!("create view v {invoker} id, tenant_id from parent; grant insert on v to app"),
            false,
        ),
    ] {
        let server = database(&format!("{TABLES}{GOOD}{make}")).await;
        let migration = diff(&server, &declaration).await;
        assert_eq!(migration.is_empty(), stays, "{what}:\n{}", migration.up());
        if stays {
            let app = PgOptions::new(server.app_options());
            let found = tenancy_pg::inspect(&app, &declaration, InspectPolicy::new()).await.unwrap();
            let of_view = found.findings.iter().filter(|finding| finding.object.contains("\"v\"")).count();
            assert_eq!(of_view, 0, "{what}: {found}");
        }
        server.run_as_owner(&migration.up()).await;
        assert_eq!(fatal(&tenants, &server, &declaration).await, [""; 0], "{what}");
        let reads = "select has_any_column_privilege('app', 'v', 'SELECT')::int::bigint";
        assert_eq!(crate::common::scalar(&server.superuser_options(), reads).await == 1, stays, "{what}");
    }
}
