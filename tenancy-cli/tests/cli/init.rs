//! `tenancy init`.

use tenancy_pg::Declaration;

use crate::common::World;

#[tokio::test]
async fn a_proposal_claims_what_the_catalog_shows_and_no_more() {
    let world = World::new(
        "create table note (id bigint primary key, org_id uuid not null);
         create table \"Odd \"\" name\" (id bigint primary key, org_id uuid);
         create table event (id bigint, org_id uuid not null, at date) partition by range (at);
         create table event_2026 partition of event for values from ('2026-01-01') to ('2027-01-01');
         create table line (id bigint primary key, note bigint references note);
         create table country (code text primary key, org_id int);
         create view recent as select * from note;
         create policy p on note using (org_id = nullif(current_setting('app.org', true), '')::uuid);",
    )
    .await;
    let ran = world.run(&["init"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    let declaration = Declaration::from_toml(&ran.out).unwrap();
    assert_eq!(declaration.setting(), "app.org");
    let tables: Vec<&str> = declaration.tenant_tables().iter().map(|table| table.table()).collect();
    assert_eq!(tables, ["Odd \" name", "event", "note"]);
    assert!(declaration.tenant_tables().iter().all(|table| table.column() == "org_id"));
    // Whose the others' rows are is not for a program to say.
    assert_eq!(declaration.global_tables(), []);
    for (relation, why) in
        [("line", "refers to note"), ("country", "is integer, which is no row key"), ("recent", "security_invoker")]
    {
        let line = ran.out.lines().find(|line| line.contains(&format!("\"{relation}\"")));
        assert!(
            line.is_some_and(|line| line.trim_start().starts_with('#') && line.contains(why)),
            "{relation}: {line:?}"
        );
    }
    assert!(ran.out.contains("may be null"), "{}", ran.out);
    // Nor what operators are to read across tenants: it says so, and how it is written.
    assert_eq!(declaration.report_relations(), []);
    assert!(ran.out.contains("no report is proposed"), "{}", ran.out);
    let with_a_report = Declaration::from_toml(&ran.out.replace("# report =", "report =")).unwrap();
    assert_eq!(with_a_report.report_relations().len(), 1);
}

/// Names of the catalog are somebody's text: none of them becomes a line of the file.
#[tokio::test]
async fn no_name_gets_out_of_its_line() {
    for name in ["a\nglobal-tables = []", "a\" }, { table = \"b", "a # b", "a\r\nb", "\u{7f}", "tab\there", "ä\\u0041"]
    {
        let quoted = format!("\"{}\"", name.replace('"', "\"\""));
        let world = World::new(&format!("create table {quoted} (tenant_id uuid not null)")).await;
        let declaration = Declaration::from_toml(&world.run(&["init"]).out).unwrap();
        let tables: Vec<&str> = declaration.tenant_tables().iter().map(|table| table.table()).collect();
        assert_eq!(tables, [name]);
        let ran = world.run(&["init", "--column", "nothing_has_this"]);
        let declaration = Declaration::from_toml(&ran.out).unwrap();
        assert_eq!((declaration.tenant_tables().len(), declaration.global_tables().len()), (0, 0), "{}", ran.out);
    }
}

#[tokio::test]
async fn the_usual_column_is_the_one_that_most_tables_have() {
    for (sql, found) in [
        ("create table a (org_id text); create table b (org_id text); create table c (tenant_id uuid)", "org_id"),
        ("create table a (tenant_id uuid); create table b (org_id text)", "tenant_id"),
        ("create table a (account_id bigint); create table b (tenant_id int)", "account_id"),
        ("create table a (\"Tenant_ID\" uuid)", "Tenant_ID"),
        ("create table a (id int)", "init --column"),
        ("create table a (id int); create view v as select 'x'::text as org_id", "init --column"),
    ] {
        let ran = World::new(sql).await.run(&["init"]);
        assert!(ran.out.contains(found), "{sql}: {}", ran.out);
    }
}

#[tokio::test]
async fn a_file_that_is_there_stays_as_it_is() {
    let world = World::new("create table note (tenant_id uuid not null)").await;
    let ran = world.run(&["init", "--out", "tenancy.toml"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert_eq!(ran.err, "tenancy.toml: 1 tenant tables; 0 relations are yours to decide\n");
    let written = std::fs::read_to_string(world.folder.path().join("tenancy.toml")).unwrap();
    assert!(Declaration::from_toml(&written).is_ok());
    world.write("tenancy.toml", "mine");
    assert_eq!(world.run(&["init", "--out", "tenancy.toml"]).code, 2);
    assert_eq!(std::fs::read_to_string(world.folder.path().join("tenancy.toml")).unwrap(), "mine");
}

/// A schema that knows no tenants is one to adopt, not one that is the same for everybody.
#[tokio::test]
async fn tables_without_a_tenant_column_are_to_be_given_one() {
    for (sql, arguments, said, column) in [
        ("", &["init"][..], "No table has a column that looks like a tenant's", "tenant_id"),
        ("", &["init", "--column", "customer"], "No table has a column \"customer\"", "customer"),
        (
            "alter table note add customer int",
            &["init", "--column", "customer"],
            "No table has a column \"customer\"",
            "customer",
        ),
    ] {
        let world = World::new(
            "create table note (id int primary key); create table line (id int, note int references note);
             create materialized view copy as select * from note;",
        )
        .await;
        world.database.run_as_owner(sql).await;
        let ran = world.run(arguments);
        assert!(ran.out.contains(said) && ran.out.contains("docs/postgres/adopt.md"), "{}", ran.out);
        let (before, after) = ran.out.split_once("global-tables = [").unwrap();
        for table in ["note", "line"] {
            let line = format!("    # {{ table = \"{table}\", column = \"{column}\", type = \"uuid\" }},");
            assert!(before.contains(&line) && !after.contains(&format!("\"{table}\" }}")), "{}", ran.out);
        }
        assert!(after.contains("# { table = \"copy\" }"), "{}", ran.out);
        assert_eq!(Declaration::from_toml(&ran.out).unwrap().tenant_tables(), []);
        // Without the # it is a declaration.
        let taken: String =
            ran.out.lines().map(|line| line.replace("    # { table = \"note\"", "{ table = \"note\"") + "\n").collect();
        assert_eq!(Declaration::from_toml(&taken).unwrap().tenant_tables().len(), 1, "{taken}");
    }
    let world = World::new("create table note (tenant_id uuid); create table country (code text)").await;
    let ran = world.run(&["init", "--column", "tenant_id"]);
    assert!(!ran.out.contains("adopt.md gives") && ran.out.contains("# { table = \"country\" }"), "{}", ran.out);
}

/// A view is declared as nothing, and reads as whoever asks.
#[tokio::test]
async fn views_are_no_part_of_a_declaration() {
    let world = World::new(
        "create table note (tenant_id uuid not null);
         create view ready with (security_invoker = on) as select * from note;
         create view owners as select * from note;",
    )
    .await;
    let ran = world.run(&["init"]);
    let (declared, views) = ran.out.split_once("# Views: nothing to declare").unwrap();
    assert!(!declared.contains("owners") && !declared.contains("ready"), "{}", ran.out);
    assert!(views.contains("#     \"public\".\"ready\" does"), "{views}");
    let alter = "ALTER VIEW \"public\".\"owners\" SET (security_invoker = true);";
    assert!(views.contains(&format!("#     {alter}")), "{views}");
    world.database.run_as_owner(alter).await;
    assert!(world.run(&["init"]).out.contains("#     \"public\".\"owners\" does"));
}
