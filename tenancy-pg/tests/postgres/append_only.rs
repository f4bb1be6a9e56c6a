//! A table in which the service changes and deletes nothing, in whichever way its rights are decided.

use sqlx::AssertSqlSafe;
use tenancy_core::{TenantId, TenantRecord};
use tenancy_pg::{
    Code, Database, Declaration, Finding, InspectPolicy, Migration, PgOptions, Roles, RowKeyType, TenantTable,
    grant_sql, inspect, propose,
};
use tenancy_testkit::{APP, CONTROL, OWNER, TestDatabase, TestTenants, ThrowawayPostgres};

use crate::adoption::adopting;
use crate::catalog::{difference, dump};

/// `receipt` is append-only and refers to `customer`, which is not.
const TABLES: &str = "
    create table customer (tenant_id uuid not null, id int not null, name text, primary key (tenant_id, id));
    create table receipt (tenant_id uuid not null, id int not null, of int, body text, primary key (tenant_id, id));";

fn declaration() -> Declaration {
    let table = |name| TenantTable::new("public", name, "tenant_id", RowKeyType::Uuid).unwrap();
    let builder = Declaration::builder().tenant_table(table("customer"));
    builder.tenant_table(table("receipt").append_only()).build().unwrap()
}

/// As the generated migration leaves it.
async fn database() -> TestDatabase {
    let server = ThrowawayPostgres::shared().await.fresh_database().await;
    server.run_as_owner(TABLES).await;
    server.run_as_owner(&Migration::of(&declaration(), &Roles::new(APP)).unwrap().up()).await;
    server
}

async fn fatal(server: &TestDatabase) -> Vec<Finding> {
    let report = inspect(&PgOptions::new(server.app_options()), &declaration(), InspectPolicy::new()).await.unwrap();
    report.fatal().cloned().collect()
}

/// The rights that the service's own role was granted, on the table and on its columns.
async fn granted(server: &TestDatabase) -> Vec<String> {
    let rights = dump(server).await.into_iter();
    let mut rights: Vec<String> =
        rights.filter(|line| line.contains("public.receipt") && line.contains("app ")).collect();
    rights.iter_mut().for_each(|line| *line = line.replace("right on public.receipt", "").replace(": app ", " "));
    rights
}

/// Whoever had more before has that and no more after it, whichever migration it is.
#[tokio::test]
async fn generated_rights_read_and_insert() {
    let tenants = TestTenants::new().await;
    let of = Migration::of(&declaration(), &Roles::new(APP)).unwrap();
    for (what, sql) in [("grant_sql", grant_sql(&declaration(), APP)), ("Migration::of", of.up())] {
        for before in ["select 1", "grant all on receipt to app", "grant update (body), delete on receipt to app"] {
            let server = database().await;
            server.run_as_owner(before).await;
            server.run_as_owner(&sql).await;
            assert_eq!(granted(&server).await, [" INSERT f", " SELECT f"], "{what}, {before}");
            assert_eq!(fatal(&server).await, [], "{what}, {before}");
        }
    }
    let server = database().await;
    let options = PgOptions::new(server.app_options());
    let database = Database::open(tenants.realm(), options, &declaration()).await.unwrap();
    let acme = database.scoped(&tenants.context("acme").await).unwrap();
    let key = tenants.life("acme").uuid();
    for table in ["customer", "receipt"] {
        let insert = format!("insert into {table} (tenant_id, id) values ('{key}', 1)");
        sqlx::query(AssertSqlSafe(insert)).execute(&acme).await.unwrap();
        for change in ["update TABLE set id = 2", "delete from TABLE", "select id from TABLE for update"] {
            let done = sqlx::query(AssertSqlSafe(change.replace("TABLE", table))).execute(&acme).await;
            let code = done.err().map(|error| error.as_database_error().unwrap().code().unwrap().into_owned());
            assert_eq!(code.as_deref(), (table == "receipt").then_some("42501"), "{change} in {table}");
        }
    }
}

/// A declaration that is proposed for a database keeps back what is kept back there.
#[tokio::test]
async fn a_proposal_says_what_is_append_only() {
    let server = database().await;
    for (what, right, is_kept) in [
        ("as generated", "select 1", true),
        ("a right on a column", "grant update (body) on receipt to app", false),
        ("a right to delete", "revoke update (body) on receipt from app; grant delete on receipt to public", false),
        ("no right to insert", "revoke insert on receipt from app; revoke delete on receipt from public", false),
    ] {
        server.run_as_owner(right).await;
        let proposal = propose(&PgOptions::new(server.app_options()), None).await.unwrap();
        let kept: Vec<_> = proposal.tenant.iter().filter(|table| table.append_only).map(|table| &table.table).collect();
        assert_eq!(kept, if is_kept { vec!["receipt"] } else { Vec::new() }, "{what}");
        assert_eq!(proposal.to_string().contains("append-only = true"), is_kept, "{what}: {proposal}");
    }
}

/// Each way to a change, and the steps that `diff` has for it, where the owner of the tables can take it away.
const WAYS: &[(&str, &str, &str, Option<usize>)] = &[
    ("update", "grant update on receipt to app", "receipt", Some(1)),
    ("update of a column", "grant update (body) on receipt to app", "receipt", Some(1)),
    ("delete", "grant delete on receipt to app", "receipt", Some(1)),
    ("both, through PUBLIC", "grant update, delete on receipt to public", "receipt", Some(2)),
    (
        "through a role that the service can become",
        "reset role; create role {role}; alter role app noinherit; grant {role} to app; grant delete on receipt to {role}",
        "receipt",
        Some(1),
    ),
    ("by a role that writes everywhere", "reset role; grant pg_write_all_data to app", "receipt", None),
    (
        "a child that is reached by its name",
        "create table part () inherits (receipt); grant select, update on part to app;
         alter table part enable row level security; alter table part force row level security;
         create policy p on part using (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid);
         alter table part alter tenant_id set not null",
        "part",
        Some(2),
    ),
    (
        "a view in its owner's name",
        "create view v as select * from receipt; grant select, update on v to app",
        "v",
        None,
    ),
    (
        "a view of such a view",
        "create view w as select * from receipt;
         create view v with (security_invoker = true) as select * from w; grant select on w to app; grant delete on v to app",
        "v",
        None,
    ),
    ("a parent, of which that is not declared", "alter table receipt add name text; alter table receipt inherit customer", "customer", None),
    (
        "a view of a parent",
        "alter table receipt add name text; alter table receipt inherit customer; revoke update, delete on customer from app;
         create view v as select * from customer; grant update on v to app",
        "v",
        None,
    ),
    (
        "a rule on another table",
        "create rule r as on insert to customer do also update receipt set body = new.name where id = new.id",
        "r ON customer",
        None,
    ),
    (
        "a rule on a view that takes insertions",
        "create view v as select * from receipt; grant insert on v to app;
         create rule r as on insert to v do instead delete from receipt where id = new.id",
        "r ON v",
        None,
    ),
    (
        "a rule on the table itself",
        "create rule r as on insert to receipt do also delete from receipt where id < new.id",
        "r ON receipt",
        None,
    ),
    (
        "a rule that changes a view",
        "create view v as select * from receipt;
         create rule r as on update to customer do also update v set body = new.name where id = new.id",
        "r ON customer",
        None,
    ),
    (
        "a rule behind a view",
        "create view w as select * from receipt; create view v as select * from w; grant insert on v to app;
         create rule r as on insert to w do instead update receipt set body = new.body where id = new.id",
        "r ON w",
        None,
    ),
    (
        "a rule that inserts or changes",
        "create rule r as on insert to customer do also insert into receipt (tenant_id, id) values (new.tenant_id, new.id)
             on conflict (tenant_id, id) do update set body = ''",
        "r ON customer",
        None,
    ),
    (
        "a key that carries deletions on",
        "alter table receipt add foreign key (tenant_id, of) references customer on delete cascade",
        "receipt_tenant_id_of_fkey ON receipt",
        None,
    ),
    (
        "a key that carries changes on",
        "alter table receipt add foreign key (tenant_id, of) references customer on update cascade",
        "receipt_tenant_id_of_fkey ON receipt",
        None,
    ),
];

fn named(sql: &str, server: &TestDatabase) -> String {
    format!("set role own; {}", sql.replace("{role}", &format!("role_{}", server.name())))
}

async fn end(server: &TestDatabase) {
    let role = format!("role_{}", server.name());
    server.run("drop schema public cascade; revoke pg_write_all_data from app; alter role app inherit").await;
    server.run(&format!("drop role if exists {role}")).await;
}

/// What is found is mended by what it says, and nothing else is found.
#[tokio::test]
async fn every_way_to_a_change_is_found() {
    // The service's role is the server's: what it becomes here it must not be for others.
    let server = ThrowawayPostgres::start().await.unwrap();
    for (what, way, object, _) in WAYS {
        let server = server.fresh_database().await;
        server.run_as_owner(TABLES).await;
        server.run_as_owner(&Migration::of(&declaration(), &Roles::new(APP)).unwrap().up()).await;
        assert_eq!(fatal(&server).await, [], "{what}: before");
        server.run(&named(way, &server)).await;
        let found = fatal(&server).await;
        let bare = |finding: &Finding| (finding.code, finding.object.replace('"', "").replace("public.", ""));
        let found_of: Vec<_> = found.iter().map(bare).collect();
        assert_eq!(found_of, [(Code::AppendOnly, (*object).to_owned())], "{what}");
        for finding in found {
            server.run(&finding.fix).await;
        }
        assert_eq!(fatal(&server).await, [], "{what}: mended");
        end(&server).await;
    }
}

/// What changes nothing there is not found.
#[tokio::test]
async fn what_is_no_way_to_a_change_is_not_found() {
    for (what, no_way) in [
        (
            "a view as whoever asks",
            "create view v with (security_invoker = true) as select * from receipt; grant select, update, delete on v to app",
        ),
        (
            "a view that can't be written to",
            "create view v as select distinct body from receipt; grant select, update, delete on v to app",
        ),
        ("a right on a table that is not append-only", "grant update (name) on customer to app"),
        ("a key that refuses", "alter table receipt add foreign key (tenant_id, of) references customer"),
        ("a rule that refuses", "create rule r as on insert to receipt do instead nothing"),
        (
            "a rule that inserts",
            "create rule r as on insert to customer do also insert into receipt (tenant_id, id) values (new.tenant_id, new.id)",
        ),
        (
            "a rule that changes another table",
            "create rule r as on insert to receipt do also update customer set name = new.body where id = new.of",
        ),
        (
            "a rule that the service does not set off",
            "create rule r as on update to receipt do also delete from receipt",
        ),
        (
            "a parent that is only read and inserted into",
            "alter table receipt add name text; alter table receipt inherit customer; revoke update, delete on customer from app",
        ),
        ("a right of somebody else's", "grant update, delete on receipt to control"),
    ] {
        let server = database().await;
        server.run(&named(no_way, &server)).await;
        assert_eq!(fatal(&server).await, [], "{what}");
    }
}

/// Comparing revokes what is there, and no more; and takes it back.
#[tokio::test]
async fn a_comparison_takes_the_rights_away() {
    let server = ThrowawayPostgres::start().await.unwrap();
    for (what, way, _, steps) in WAYS {
        let Some(steps) = steps else { continue };
        let server = server.fresh_database().await;
        server.run_as_owner(TABLES).await;
        server.run_as_owner(&Migration::of(&declaration(), &Roles::new(APP)).unwrap().up()).await;
        let diff = async || Migration::diff(server.owner_options(), &declaration(), &Roles::new(APP)).await.unwrap();
        assert!(diff().await.is_empty(), "{what}: before\n{}", diff().await.up());
        server.run(&named(way, &server)).await;
        let before = dump(&server).await;
        let migration = diff().await;
        assert_eq!(migration.steps().len(), *steps, "{what}\n{}", migration.up());
        server.run_as_owner(&migration.up()).await;
        assert_eq!(fatal(&server).await, [], "{what}");
        assert!(diff().await.is_empty(), "{what}: once is enough");
        server.run_as_owner(&migration.down()).await;
        assert_eq!(difference(&before, &dump(&server).await), [""; 0], "{what}: not taken back");
        end(&server).await;
    }
}

/// A table that is adopted comes with the rights of its service of before.
#[tokio::test]
async fn an_adoption_takes_the_rights_away() {
    let server = adopting().await.fresh_database().await;
    server
        .run_as_owner(
            "create table customer (id int primary key, name text); create table receipt (id int primary key, body text);
             insert into customer values (1, 'a'); insert into receipt values (1, 'b');
             grant select, insert, update, delete on customer, receipt to app; grant update (body) on receipt to app",
        )
        .await;
    let tenants = TestTenants::new().await;
    let record =
        TenantRecord::new(TenantId::parse("acme").unwrap(), tenants.life("acme"), std::time::SystemTime::UNIX_EPOCH);
    let roles = Roles::new(APP).cut_off(OWNER).cut_off(CONTROL);
    let migration = Migration::adopt(server.owner_options(), &declaration(), &roles, &record).await.unwrap();
    migration.run(server.owner_options()).await.unwrap();
    assert_eq!(granted(&server).await, [" INSERT f", " SELECT f"]);
    assert_eq!(fatal(&server).await, []);
}
