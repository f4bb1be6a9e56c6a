//! `tenancy inspect`.

use serde_json::Value;
use tenancy_pg::{Declaration, grant_sql, policy_sql};
use tenancy_testkit::{APP, OWNER};

use crate::common::World;

const TOML: &str = "[database]\ntenant-tables = [{ table = 'note', column = 'tenant_id', type = 'uuid' }]";

/// A database that passes, and its declaration beside the program.
async fn sound() -> World {
    let declaration = Declaration::from_toml(TOML).unwrap();
    let world = World::new("create table note (tenant_id uuid not null, id int, primary key (tenant_id, id))").await;
    world.database.run_as_owner(&policy_sql(&declaration)).await;
    world.database.run_as_owner(&grant_sql(&declaration, APP)).await;
    world.write("tenancy.toml", TOML);
    world
}

#[tokio::test]
async fn the_exit_code_is_the_worst_finding() {
    let world = sound().await;
    let ran = world.run(&["inspect"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(!ran.out.contains("fatal["), "{}", ran.out);
    // A unique index without the tenant column is a warning.
    world.database.run_as_owner("create unique index on note (id)").await;
    assert_eq!(world.run(&["inspect"]).code, 0);
    assert_eq!(world.run(&["inspect", "--deny-warnings"]).code, 3);
    world.database.run_as_owner("alter table note no force row level security").await;
    for arguments in
        [&["inspect"][..], &["inspect", "--deny-warnings"], &["inspect", "--json"], &["inspect", "--sarif"]]
    {
        assert_eq!(world.run(arguments).code, 1, "{arguments:?}");
    }
}

/// The variable of `policy diff` is read by this command too, and names the owner there.
#[tokio::test]
async fn an_owner_is_told_that_it_is_not_the_service() {
    let world = sound().await;
    assert_eq!(world.run(&["inspect"]).err, "");
    let ran = world.run_with_url(&world.database.url(OWNER), &["inspect", "--json"]);
    assert!(ran.out.contains("PG006"), "{}", ran.out);
    assert!(ran.err.ends_with("inspect as the service's role\n") && ran.err.contains(OWNER), "{}", ran.err);
}

#[tokio::test]
async fn programs_get_one_document() {
    let world = sound().await;
    world.database.run_as_owner("alter table note no force row level security").await;
    let json: Value = serde_json::from_str(&world.run(&["inspect", "--json"]).out).unwrap();
    let codes: Vec<&str> = json["findings"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"PG010"), "{codes:?}");
    let sarif: Value = serde_json::from_str(&world.run(&["inspect", "--sarif"]).out).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert!(results.iter().any(|result| result["ruleId"] == "PG010" && result["level"] == "error"), "{results:?}");
}

/// What `--fix-sql` prints can be fed to the server as it is.
#[tokio::test]
async fn what_mends_can_be_run() {
    let world = sound().await;
    world
        .database
        .run_as_owner("alter table note no force row level security; alter table note disable row level security")
        .await;
    let fix = world.run(&["inspect", "--fix-sql"]);
    assert_eq!(fix.code, 1);
    world.database.run(&fix.out).await;
    let after = world.run(&["inspect"]);
    assert_eq!(after.code, 0, "{}", after.out);
}

#[tokio::test]
async fn what_keeps_it_from_looking_is_2_and_quotes_no_secret() {
    let world = sound().await;
    let url = |password: &str| format!("postgres://app:{password}@127.0.0.1:1/none");
    for (url, arguments, said) in [
        (url("hunter2"), &["inspect"][..], "DATABASE_URL"),
        ("postgres://app:hunter2@[".to_owned(), &["inspect"], "postgres://role@host/database"),
        ("mysql://app:hunter2@127.0.0.1:1/none".to_owned(), &["inspect"], "postgres://role@host/database"),
        ("127.0.0.1".to_owned(), &["inspect"], "postgres://role@host/database"),
        (url("hunter2"), &["inspect", "--config", "nowhere.toml"], "nowhere.toml"),
        (url("hunter2"), &["inspect", "--json", "--sarif"], "--sarif"),
        (url("hunter2"), &["inspect", "--server-floor", "loud"], "fatal"),
    ] {
        let ran = world.run_with_url(&url, arguments);
        assert_eq!(ran.code, 2, "{arguments:?}");
        assert!(ran.err.contains(said), "{arguments:?}: {}", ran.err);
        assert!(!ran.err.contains("hunter2") && ran.out.is_empty(), "{arguments:?}: {}", ran.err);
    }
    assert!(!world.run_with_url(&url("hunter2"), &["inspect", "--help"]).out.contains("hunter2"));
}

/// The role that reads reports is looked at where it is named, and what it may too much counts.
#[tokio::test]
async fn the_reporting_role_is_looked_at_too() {
    let toml = format!("{TOML}\nreport = [{{ table = 'note', columns = ['tenant_id'] }}]");
    for signed in ["", "\nsigned = true"] {
        let world =
            World::new("create table note (tenant_id uuid not null, id int, primary key (tenant_id, id))").await;
        world.write("tenancy.toml", &format!("{toml}{signed}"));
        let role = "do $$ begin create role cli_reports login; exception when duplicate_object or unique_violation then null; end $$";
        world.database.run(role).await;
        let harden = ["policy", "harden", "--owner", OWNER, "--app", APP, "--report", "cli_reports"];
        world.database.run(&world.run(&harden).out).await;
        let generated = world.run(&["policy", "generate", "--app", APP, "--report", "cli_reports"]);
        world.database.run_as_owner(&generated.out).await;
        let url = world.database.url("cli_reports");
        let inspect = ["inspect", "--reports-url", &url];
        let ran = world.run(&inspect);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        world.database.run_as_owner("grant select (id) on note to cli_reports").await;
        assert_eq!(world.run(&["inspect"]).code, 0, "nobody asked about it");
        let ran = world.run(&inspect);
        assert!(ran.code == 1 && ran.out.contains("fatal[PG056]"), "{}{}", ran.out, ran.err);
        assert_eq!(world.run(&["inspect", "--reports-url", "postgres://x:hunter2@["]).code, 2);
    }
}

/// A schema of three tables that nobody protected: each mend once, and a line at the end that counts.
#[tokio::test]
async fn what_mends_several_findings_is_printed_once() {
    let world = World::new(&format!(
        "create table note (tenant_id uuid not null, id int); create table tag (tenant_id uuid not null, id int);
         create table line (tenant_id uuid not null, id int); insert into note values (gen_random_uuid(), 1);
         grant select, insert, update, delete on note, tag, line to {APP};"
    ))
    .await;
    let table = |name| format!("{{ table = '{name}', column = 'tenant_id', type = 'uuid' }}");
    let tables = ["note", "tag", "line"].map(table).join(", ");
    world.write("tenancy.toml", &format!("[database]\ntenant-tables = [{tables}]"));
    let ran = world.run(&["inspect"]);
    let count = |text: &str, of: &str| text.matches(of).count();
    for (of, times) in [
        ("fatal[PG014]", 3),
        ("SELECT, INSERT, UPDATE, DELETE\n", 3),
        ("CREATE POLICY \"tenancy_row_key\" ON \"public\".\"note\"", 1),
        ("mend: as PG014 \"public\".\"note\" SELECT, INSERT, UPDATE, DELETE above", 1),
        ("REVOKE CREATE ON SCHEMA public FROM PUBLIC;", 1),
        ("`tenancy policy harden --keep OWNER`", 1),
        (" more\n", 2),
        ("hardening_sql", 0),
    ] {
        assert_eq!(count(&ran.out, of), times, "{of}: {}", ran.out);
    }
    let (fatal, warnings) = (count(&ran.out, "fatal[PG"), count(&ran.out, "warning[PG"));
    let last = format!("\n{fatal} fatal, {warnings} warnings; `tenancy inspect --fix-sql` prints the mends\n");
    assert!(fatal > 3 && warnings > 1 && ran.out.ends_with(&last), "{}", ran.out);
    // For programs nothing is shortened.
    assert!(world.run(&["inspect", "--json"]).out.contains("lo_export(oid, text)"));

    let fix = world.run(&["inspect", "--fix-sql"]).out;
    // Whole statements on a line; the last lines of longer ones look alike.
    let statements: Vec<&str> =
        fix.lines().filter(|line| line.ends_with(';') && !line.starts_with([' ', 'F'])).collect();
    for (at, statement) in statements.iter().enumerate() {
        assert!(!statements[..at].contains(statement), "{statement}: {fix}");
    }
    assert_eq!(count(&fix, "CREATE POLICY \"tenancy_row_key\" ON \"public\".\"note\""), 1, "{fix}");
    world.database.run(&fix).await;
    let after = world.run(&["inspect"]);
    assert_eq!(after.code, 0, "{}", after.out);
}

/// What the view's finding says is enough is enough.
#[tokio::test]
async fn a_view_that_was_declared_global_is_taken_out_of_the_declaration() {
    let world = sound().await;
    world
        .database
        .run_as_owner(&format!("create view titles as select id from note; grant select on titles to {APP}"))
        .await;
    world.write("tenancy.toml", &format!("{TOML}\nglobal-tables = [{{ table = 'titles' }}]"));
    let ran = world.run(&["inspect"]);
    let alter = "ALTER VIEW public.titles SET (security_invoker = true);";
    assert!(ran.out.contains("fatal[PG020]") && ran.out.contains("take it out of global-tables"), "{}", ran.out);
    assert!(ran.out.contains(&format!("-- {alter}")), "{}", ran.out);
    world.database.run_as_owner(alter).await;
    world.write("tenancy.toml", TOML);
    let ran = world.run(&["inspect"]);
    assert!(ran.code == 0 && !ran.out.contains("titles"), "{}", ran.out);
    let diff = world.run_with_url(&world.database.url(OWNER), &["policy", "diff", "--app", APP]);
    assert!(!diff.out.contains("titles"), "{}", diff.out);
}
