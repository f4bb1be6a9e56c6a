//! `tenancy policy`.

use serde_json::Value;
use tenancy_testkit::{APP, OWNER};

use crate::common::World;

const TOML: &str = "[database]\ntenant-tables = [{ table = 'note', column = 'tenant_id', type = 'uuid' }]";
const TABLE: &str = "create table note (tenant_id uuid not null, id int, primary key (tenant_id, id))";

#[tokio::test]
async fn what_is_generated_passes_the_inspection_and_leaves_no_difference() {
    for toml in [TOML.to_owned(), format!("[database]\nsigned = true\n{}", TOML.replace("[database]\n", ""))] {
        let world = World::new(TABLE).await;
        world.write("tenancy.toml", &toml);
        let owner = world.database.url(OWNER);
        let harden = world.run(&["policy", "harden", "--owner", OWNER, "--app", APP]);
        assert_eq!(harden.code, 0, "{}", harden.err);
        world.database.run(&harden.out).await;
        let before = world.run_with_url(&owner, &["policy", "diff", "--app", APP]);
        assert_eq!(before.code, 1, "{}", before.err);
        let generated = world.run(&["policy", "generate", "--app", APP]);
        assert_eq!((generated.code, generated.err.as_str()), (0, ""));
        world.database.run_as_owner(&generated.out).await;
        let after = world.run_with_url(&owner, &["policy", "diff", "--app", APP]);
        assert_eq!((after.code, after.out.as_str()), (0, ""), "{}", after.err);
        assert_eq!(world.run_with_url(&owner, &["policy", "diff", "--app", APP, "--json"]).out, "[]\n");
        let inspected = world.run(&["inspect"]);
        assert_eq!(inspected.code, 0, "{}", inspected.out);
        // And back again.
        let down = world.run(&["policy", "generate", "--app", APP, "--down"]);
        world.database.run_as_owner(&down.out).await;
        assert_eq!(world.run(&["inspect"]).code, 1);
    }
}

/// The owner's migrations go on after the hardening, where it is named.
#[tokio::test]
async fn a_role_that_is_named_keeps_what_the_hardening_takes() {
    let world = World::new(TABLE).await;
    world.write("tenancy.toml", TOML);
    let harden = |keep: &[&str]| {
        let ran = world.run(&[["policy", "harden", "--owner", OWNER, "--app", APP].as_slice(), keep].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
    };
    assert!(!harden(&[]).contains("GRANT USAGE ON LANGUAGE"));
    let kept = harden(&["--keep", OWNER, "--keep", "control"]);
    assert!(kept.contains("GRANT USAGE ON LANGUAGE plpgsql TO \"own\", \"control\";"), "{kept}");
    world.database.run(&kept).await;
    world.database.run_as_owner("do $$ begin perform set_config('search_path', '', false); end $$").await;
}

#[tokio::test]
async fn a_difference_is_what_is_missing() {
    let world = World::new(TABLE).await;
    world.write("tenancy.toml", TOML);
    world.database.run_as_owner(&world.run(&["policy", "generate", "--app", APP]).out).await;
    world.database.run_as_owner("alter table note no force row level security").await;
    let diff = ["policy", "diff", "--app", APP, "--json"];
    let ran = world.run_with_url(&world.database.url(OWNER), &diff);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let steps: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(steps.as_array().unwrap().len(), 1, "{steps}");
    assert_eq!(steps[0]["up"], "ALTER TABLE \"public\".\"note\" FORCE ROW LEVEL SECURITY;\n");
    assert_eq!(steps[0]["lock"], "AccessExclusiveLock");
}

#[tokio::test]
async fn files_are_all_new_or_none_is_written() {
    let world = World::new("").await;
    world.write("tenancy.toml", TOML);
    let generate = |name| world.run(&["policy", "generate", "--app", APP, "--files", name]);
    let ran = generate("20270101000000_tenancy");
    assert_eq!(ran.out, "20270101000000_tenancy.up.sql\n20270101000000_tenancy.down.sql\n", "{}", ran.err);
    let read = |name| std::fs::read_to_string(world.folder.path().join(name)).unwrap();
    assert!(read("20270101000000_tenancy.up.sql").contains("CREATE POLICY"));
    world.write("20270101000000_tenancy.up.sql", "mine");
    std::fs::remove_file(world.folder.path().join("20270101000000_tenancy.down.sql")).unwrap();
    assert_eq!(generate("20270101000000_tenancy").code, 2);
    assert_eq!(read("20270101000000_tenancy.up.sql"), "mine");
    assert!(!world.folder.path().join("20270101000000_tenancy.down.sql").exists());
    for name in ["tenancy", "x_tenancy", "_", "nowhere/1_a"] {
        assert_eq!(generate(name).code, 2, "{name}");
    }
}
