//! What can be told without a row, what waits, and what every new database leaves open.

use tenancy_pg::{
    Code, Database, Declaration, InspectPolicy, PgOptions, RowKeyType, Severity, TenantTable, grant_sql, policy_sql,
};
use tenancy_testkit::APP;

use crate::common::World;
use crate::inspection::report;
use crate::inspection_of_objects::each_mends_itself;

/// Rights on what is to come, rows that leave, counts and references that can be read.
#[tokio::test]
async fn what_waits_or_can_be_told_is_a_warning() {
    let world = World::new().await;
    let warning = Severity::Warning;
    each_mends_itself(
        &world,
        &[
            ("tables to come", "alter default privileges for role own grant select on tables to app", Code::DefaultRight, warning, ""),
            ("in one schema", "alter default privileges for role own in schema public grant insert on tables to app", Code::DefaultRight, warning, ""),
            ("for everybody", "alter default privileges for role own grant delete on tables to public", Code::DefaultRight, warning, ""),
            ("for a role that app can become", "create role {role}; grant {role} to app; alter default privileges for role own grant select on tables to {role}", Code::DefaultRight, warning, "drop owned by {role}; drop role {role}"),
            ("of a superuser", "alter default privileges grant all on tables to app", Code::DefaultRight, warning, ""),
            ("a sequence's last value", "create sequence s; grant select on sequence s to app", Code::ReadableSequence, warning, "drop sequence s"),
            ("a sequence that can be set", "create sequence s; grant update on sequence s to public", Code::ReadableSequence, warning, "drop sequence s"),
            ("a table's own sequence", "alter table note add n serial; grant all on sequence note_n_seq to app", Code::ReadableSequence, warning, "alter table note drop n"),
            ("in another schema", "create schema aside; create sequence aside.s; grant select on sequence aside.s to app", Code::ReadableSequence, warning, "drop schema aside cascade"),
            ("through a role", "create role {role}; grant {role} to app; create sequence s; grant select on sequence s to {role}", Code::ReadableSequence, warning, "drop sequence s; drop role {role}"),
            ("a reference to a large object", "alter table note add file oid", Code::LargeObjectColumn, warning, "alter table note drop file"),
            ("by the type of the module lo", "create domain lo as oid; alter table note add file lo", Code::LargeObjectColumn, warning, "alter table note drop file; drop domain lo"),
            ("published", "create publication {role} for table note", Code::Published, warning, "drop publication {role}"),
            ("everything published", "create publication {role} for all tables", Code::Published, warning, ""),
            ("a schema published", "create publication {role} for tables in schema public", Code::Published, warning, "drop publication {role}"),
            ("some columns published", "create publication {role} for table note (id)", Code::Published, warning, "drop publication {role}"),
            ("two publications", "create publication {role} for table note; create publication {role}b for table note, country", Code::Published, warning, "drop publication {role}; drop publication {role}b"),
            ("a role's default role", "alter role app in database {db} set session_replication_role = 'replica'", Code::RoleSetting, warning, ""),
            ("a library of the role's choice", "alter role app in database {db} set dynamic_library_path = '$libdir'", Code::RoleSetting, warning, ""),
            ("the server's schema not first", "alter database {db} set search_path = public, pg_catalog", Code::RoleSetting, warning, ""),
            ("rows or errors", "alter database {db} set row_security = off", Code::RoleSetting, warning, ""),
            ("texts that read otherwise", "alter role app in database {db} set standard_conforming_strings = off", Code::RoleSetting, warning, ""),
        ],
    )
    .await;
}

/// A16: whatever the case of the name, for whomever, in this database.
#[tokio::test]
async fn defaults_of_the_setting_are_fatal_in_any_case() {
    let world = World::new().await;
    each_mends_itself(
        &world,
        &[
            (
                "of the role here",
                "alter role app in database {db} set tenancy.row_key = '7'",
                Code::DefaultSetting,
                Severity::Fatal,
                "",
            ),
            (
                "in capitals",
                "alter role app in database {db} set \"Tenancy.Row_Key\" = '7'",
                Code::DefaultSetting,
                Severity::Fatal,
                "",
            ),
            (
                "of the database",
                "alter database {db} set \"TENANCY.ROW_KEY\" = '7'",
                Code::DefaultSetting,
                Severity::Fatal,
                "",
            ),
            (
                "of another role",
                "create role {role}; alter role {role} in database {db} set tenancy.row_key = '7'",
                Code::DefaultSetting,
                Severity::Fatal,
                "drop role {role}",
            ),
            (
                "of every role here",
                "alter role all in database {db} set tenancy.row_key = '7'",
                Code::DefaultSetting,
                Severity::Fatal,
                "",
            ),
        ],
    )
    .await;
    world.server.run(&world.named("alter role app in database {db} set tenancy.row_key = ''")).await;
    assert!(!report(&world, world.server.app_options()).await.has(Code::DefaultSetting), "empty is what it should be");
}

/// An index that finds the nearest looks at every tenant's vectors. The access method only lends its name here, so that
/// the case runs where pgvector is not installed.
#[tokio::test]
async fn an_index_of_the_nearest_over_all_tenants_is_a_warning() {
    let world = World::new().await;
    let one = world.life("acme").uuid();
    let methods = ["hnsw", "ivfflat"].map(|method| {
        format!(
            "create access method {method} type index handler hashhandler;
             create operator class {method}_ops default for type int using {method} as
                 operator 1 =, function 1 hashint4(int);"
        )
    });
    world.server.run(&methods.concat()).await;
    world
        .server
        .run(&format!(
            "create table doc (tenant_id uuid not null, v int) partition by list (tenant_id);
             create table doc_one partition of doc for values in ('{one}');
             create table doc_rest partition of doc default"
        ))
        .await;
    let declaration = Declaration::builder()
        .tenant_table(TenantTable::new("public", "note", "tenant_id", RowKeyType::Uuid).unwrap())
        .tenant_table(TenantTable::new("public", "doc", "tenant_id", RowKeyType::Uuid).unwrap())
        .global_table("public", "country")
        .build()
        .unwrap();
    world.server.run(&(policy_sql(&declaration) + &grant_sql(&declaration, APP))).await;
    for (what, index, found) in [
        ("over a whole table", "note using hnsw (id)", true),
        ("of the other kind", "note using ivfflat (id)", true),
        ("over some rows of all", "note using hnsw (id) where id > 0", true),
        ("over all but one", &format!("note using hnsw (id) where tenant_id <> '{one}'"), true),
        ("over the partition that holds the rest", "doc_rest using hnsw (v)", true),
        ("over every partition", "doc using hnsw (v)", true),
        ("over one tenant", &format!("note using hnsw (id) where tenant_id = '{one}'"), false),
        ("over some rows of one", &format!("note using hnsw (id) where id > 0 and tenant_id = '{one}'"), false),
        ("over one tenant's partition", "doc_one using hnsw (v)", false),
        ("of another kind", "note using btree (id)", false),
    ] {
        world.server.run(&format!("create index its_index on {index}")).await;
        let database =
            Database::connect(world.tenants.realm(), PgOptions::new(world.server.app_options())).await.unwrap();
        let before = database.report(&declaration, InspectPolicy::new()).await.unwrap();
        assert_eq!(before.fatal().count(), 0, "{what}: {before}");
        assert_eq!(before.has(Code::VectorIndex), found, "{what}: {before}");
        for finding in before.findings.iter().filter(|finding| finding.code == Code::VectorIndex) {
            world.server.run(&finding.fix).await;
        }
        let after = database.report(&declaration, InspectPolicy::new()).await.unwrap();
        assert!(!after.has(Code::VectorIndex), "{what}: {after}");
        world.server.run("drop index if exists its_index").await;
    }
}

/// P12 and relatives: what each finding says mends it does.
#[tokio::test]
async fn unique_and_exclusion_are_mended_by_the_tenant_in_front() {
    let world = World::new().await;
    world.server.run("alter table note drop constraint note_pkey").await;
    let undo = "alter table note drop constraint if exists u; drop index if exists u";
    each_mends_itself(
        &world,
        &[
            ("P12: a unique constraint", "delete from note where tenant_id <> (select tenant_id from note limit 1); alter table note add constraint u unique (slug)", Code::UniqueIndex, Severity::Warning, undo),
            ("a primary key", "alter table note add constraint u primary key (id)", Code::UniqueIndex, Severity::Warning, undo),
            ("nulls that are equal", "alter table note add constraint u unique nulls not distinct (slug)", Code::UniqueIndex, Severity::Warning, undo),
            ("a unique index", "create unique index u on note (slug)", Code::UniqueIndex, Severity::Warning, undo),
            ("of an expression", "create unique index u on note (lower(slug), (id + 1))", Code::UniqueIndex, Severity::Warning, undo),
            ("of some rows", "create unique index u on note (slug desc) include (body) where id > 0", Code::UniqueIndex, Severity::Warning, undo),
            ("that excludes", "alter table note add constraint u exclude using btree (slug with =)", Code::UniqueIndex, Severity::Warning, undo),
        ],
    )
    .await;
}

/// P11's relatives: keys that come from, or hang on, a table that is nobody's.
#[tokio::test]
async fn foreign_keys_at_either_end_are_looked_at() {
    let world = World::new().await;
    world.server.run("alter table note add code text; create table log (note_id int)").await;
    let key = "alter table note add constraint k foreign key (code) references country";
    let may = "grant delete, update on country to app";
    let drop_log = "alter table log drop constraint if exists k; revoke all on log from app";
    each_mends_itself(
        &world,
        &[
            (
                "from a global table that the service writes",
                "alter table country add n int references note (id); grant insert on country to app",
                Code::ForeignKey,
                Severity::Fatal,
                "alter table country drop n; revoke insert on country from app",
            ),
            (
                "from an undeclared one out of reach",
                "alter table log add constraint k foreign key (note_id) references note (id)",
                Code::ForeignKey,
                Severity::Warning,
                drop_log,
            ),
            (
                "that deletes",
                &format!("{key} on delete cascade; {may}"),
                Code::KeyCarriesOn,
                Severity::Fatal,
                "alter table note drop constraint k; revoke delete, update on country from app",
            ),
            (
                "that empties",
                &format!("{key} on delete set null; {may}"),
                Code::KeyCarriesOn,
                Severity::Fatal,
                "alter table note drop constraint k; revoke delete, update on country from app",
            ),
            (
                "that defaults",
                &format!("{key} on delete set default; {may}"),
                Code::KeyCarriesOn,
                Severity::Fatal,
                "alter table note drop constraint k; revoke delete, update on country from app",
            ),
            (
                "that renames",
                &format!("{key} on update cascade; {may}"),
                Code::KeyCarriesOn,
                Severity::Fatal,
                "alter table note drop constraint k; revoke delete, update on country from app",
            ),
            (
                "both",
                &format!("{key} on update cascade on delete cascade; {may}"),
                Code::KeyCarriesOn,
                Severity::Fatal,
                "alter table note drop constraint k; revoke delete, update on country from app",
            ),
        ],
    )
    .await;
    for harmless in
        [format!("{key} on delete cascade"), format!("{key}; {may}"), format!("{key} on delete restrict; {may}")]
    {
        world.server.run(&harmless).await;
        let report = report(&world, world.server.app_options()).await;
        assert!(!report.has(Code::KeyCarriesOn) && !report.has(Code::ForeignKey), "{harmless}: {report}");
        world.server.run("alter table note drop constraint k; revoke delete, update on country from app").await;
    }
}

/// What hardening closes is a warning, and fatal in signed mode.
#[tokio::test]
async fn an_open_database_is_a_warning_until_it_is_hardened() {
    let world = World::new().await;
    let signed = Declaration::builder()
        .tenant_table(TenantTable::new("public", "note", "tenant_id", RowKeyType::Uuid).unwrap())
        .global_table("public", "country")
        .signed()
        .build()
        .unwrap();
    let severity = async |declaration: &Declaration| {
        let database =
            Database::connect(world.tenants.realm(), PgOptions::new(world.server.app_options())).await.unwrap();
        let report = database.report(declaration, InspectPolicy::new()).await.unwrap();
        report.findings.into_iter().find(|finding| finding.code == Code::NotHardened).map(|finding| finding.severity)
    };
    assert_eq!(severity(&world.declaration).await, Some(Severity::Warning));
    assert_eq!(severity(&signed).await, Some(Severity::Fatal));
    each_mends_itself(
        &world,
        &[
            ("everything", "", Code::NotHardened, Severity::Warning, ""),
            (
                "temporary objects",
                "grant temporary on database {db} to public",
                Code::NotHardened,
                Severity::Warning,
                "",
            ),
            (
                "ending others",
                "grant execute on function pg_terminate_backend(int, bigint) to public",
                Code::NotHardened,
                Severity::Warning,
                "",
            ),
            (
                "interrupting others",
                "grant execute on function pg_cancel_backend(int) to public",
                Code::NotHardened,
                Severity::Warning,
                "",
            ),
            (
                "settings from within a query",
                "grant execute on function set_config(text, text, boolean) to public",
                Code::NotHardened,
                Severity::Warning,
                "",
            ),
            ("code from text", "grant usage on language plpgsql to public", Code::NotHardened, Severity::Warning, ""),
        ],
    )
    .await;
    assert_eq!(severity(&signed).await, None);
}

/// State in a language or in a connection of one's own outlives the proof that a connection is clean. The languages only
/// lend their names here: their servers need not be installed.
#[tokio::test]
async fn functions_that_remember_are_found() {
    let world = World::new().await;
    let languages = ["plv8", "plperl", "plpython3u", "pltcl"]
        .map(|language| format!("create language {language} handler plpgsql_call_handler;"));
    world.server.run(&languages.concat()).await;
    let drop = "drop function f";
    each_mends_itself(
        &world,
        &[
            ("JavaScript", "create function f() returns int language plv8 as 'begin return 1; end'", Code::StatefulFunction, Severity::Fatal, drop),
            ("Perl", "create function f(text) returns int language plperl as 'begin return 1; end'", Code::StatefulFunction, Severity::Fatal, drop),
            ("Python", "create function f() returns int language plpython3u as 'begin return 1; end'; grant execute on function f() to app", Code::StatefulFunction, Severity::Fatal, drop),
            ("Tcl", "create function f() returns int language pltcl as 'begin return 1; end'", Code::StatefulFunction, Severity::Fatal, drop),
            ("a connection that is kept", "create function dblink_connect_u(text) returns text language sql as 'select $1'", Code::StatefulFunction, Severity::Fatal, "drop function dblink_connect_u"),
        ],
    )
    .await;
    world
        .server
        .run("create function f() returns int language plv8 as 'x'; revoke all on function f() from public")
        .await;
    assert!(!report(&world, world.server.app_options()).await.has(Code::StatefulFunction), "out of reach");
}

/// P19's warning.
#[tokio::test]
async fn many_partitions_are_a_warning() {
    let world = World::new().await;
    world
        .server
        .run(
            "create table event (tenant_id uuid not null, n int) partition by hash (tenant_id);
             do $$ begin for i in 0 .. 63 loop execute format(
                 'create table event_%s partition of event for values with (modulus 64, remainder %s)', i, i); end loop; end $$",
        )
        .await;
    let declaration = Declaration::builder()
        .tenant_table(TenantTable::new("public", "event", "tenant_id", RowKeyType::Uuid).unwrap())
        .tenant_table(TenantTable::new("public", "note", "tenant_id", RowKeyType::Uuid).unwrap())
        .global_table("public", "country")
        .build()
        .unwrap();
    world.server.run(&(policy_sql(&declaration) + &grant_sql(&declaration, APP))).await;
    let database = Database::connect(world.tenants.realm(), PgOptions::new(world.server.app_options())).await.unwrap();
    let report = database.report(&declaration, InspectPolicy::new()).await.unwrap();
    assert_eq!(report.fatal().count(), 0, "{report}");
    let found: Vec<_> = report.findings.iter().filter(|finding| finding.code == Code::ManyPartitions).collect();
    assert_eq!(found.len(), 1, "{report}");
    assert!(found[0].object.contains("event") && found[0].why.contains("64 partitions"), "{report}");
    world.server.run("drop table event_63").await;
    let report = database.report(&declaration, InspectPolicy::new()).await.unwrap();
    assert!(!report.has(Code::ManyPartitions), "{report}");
}
