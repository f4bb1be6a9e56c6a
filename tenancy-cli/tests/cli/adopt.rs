//! `tenancy policy adopt`.

use serde_json::Value;
use tenancy_testkit::{APP, CONTROL, OWNER};

use crate::common::{Ran, World, texts};

const TOML: &str = "[database]\nregistry = true\ntenant-tables = [
    { table = 'note', column = 'tenant_id', type = 'bigint' }, { table = 'tag', column = 'tenant_id', type = 'bigint' }]
legacy-roles = [{ role = 'control', until = '2099-01-01', reason = 'the service of before' }]";
const LIFE: &str = "0b5bd7a4-5a3c-4d0e-9a51-6a5f5b7f0a11";

/// Tables that know no tenant, with rows; `tag` has a column that nobody filled.
async fn old() -> World {
    let world = World::new(&format!(
        "create table note (id int primary key, body text);
         create table tag (id int primary key, tenant_id bigint, name text);
         insert into note select i, 'note' from generate_series(1, 300) i;
         insert into tag select i, null, 'tag' from generate_series(1, 300) i;
         grant select, insert, update, delete on note, tag to {CONTROL};"
    ))
    .await;
    world.write("tenancy.toml", TOML);
    world
}

/// As the owner, whom nobody works as.
fn adopt(world: &World, more: &[&str]) -> Ran {
    let always = ["policy", "adopt", "--app", APP, "--cut-off", OWNER, "--row-key", "7", "--life", LIFE];
    world.run_with_url(&world.database.url(OWNER), &[always.as_slice(), more].concat())
}

/// How many steps the last line says were done.
fn adopted(ran: &Ran) -> usize {
    ran.err.lines().last().unwrap().split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_plan_is_printed_and_changes_nothing() {
    let world = old().await;
    let plan = adopt(&world, &[]);
    assert_eq!((plan.code, plan.err.as_str()), (0, ""), "{}", plan.out);
    for said in [
        "-- 1/",
        "ADD COLUMN \"tenant_id\" bigint DEFAULT '7'::bigint",
        "outside of any transaction",
        "only --run",
        LIFE,
    ] {
        assert!(plan.out.contains(said), "{said}: {}", plan.out);
    }
    let json: Value = serde_json::from_str(&adopt(&world, &["--json"]).out).unwrap();
    let steps = json.as_array().unwrap();
    let count = plan
        .out
        .lines()
        .filter(|line| line.starts_with("-- ") && line.contains(&format!("/{}: ", steps.len())))
        .count();
    assert_eq!(count, steps.len());
    assert!(steps.iter().any(|step| step["run"]["in-batches"]["left"].is_string()), "{json}");
    assert_eq!(adopt(&world, &[]).out, plan.out);
}

#[tokio::test]
async fn a_run_adopts_every_row_and_the_service_of_before_goes_on() {
    let world = old().await;
    let ran = adopt(&world, &["--run"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    let steps = adopted(&ran);
    assert!(ran.err.lines().filter(|line| line.contains(&format!("/{steps}: "))).count() >= steps, "{}", ran.err);
    assert!(steps > 10, "{}", ran.err);
    let superuser = world.database.superuser_options();
    let found = "select concat_ws(' ', tenant_id, count(*)) from (select tenant_id from note union all select tenant_id from tag) r
                 group by tenant_id union all select concat_ws(' ', row_key, life) from tenancy.tenant order by 1";
    assert_eq!(texts(&superuser, found).await, [format!("7 {LIFE}"), "7 600".to_owned()]);
    let legacy =
        texts(&world.database.options(CONTROL), "insert into note values (301, 'late') returning tenant_id::text")
            .await;
    assert_eq!(legacy, ["7"]);
    // Nothing is left: the same command has nothing to do, and a comparison finds the same.
    let nothing = adopt(&world, &[]);
    assert_eq!((nothing.out.as_str(), nothing.err.as_str()), ("", "tenancy: nothing is left to do\n"));
    let other = world.run_with_url(
        &world.database.url(OWNER),
        &["policy", "adopt", "--app", APP, "--row-key", "17", "--life", LIFE],
    );
    assert!(other.code == 2 && other.err.contains("another tenant's, by the default"), "{}", other.err);
    let again = adopt(&world, &["--run"]);
    assert_eq!((again.code, again.err.as_str()), (0, "tenancy: 0 steps done, nothing is left to do\n"));
    let diff = world.run_with_url(&world.database.url(OWNER), &["policy", "diff", "--app", APP]);
    assert_eq!((diff.code, diff.out.as_str()), (0, ""), "{}", diff.err);
}

/// What stops it is named, what was done stays, and the same command does the rest.
#[tokio::test]
async fn a_run_that_was_stopped_is_taken_up_again() {
    let world = old().await;
    let planned = adopt(&world, &[]).out.lines().filter(|line| line.starts_with("-- ")).count() / 2;
    world.database.run("alter table tag add constraint tenancy_not_null check (id < 0) not valid").await;
    let stuck = adopt(&world, &["--run"]);
    assert_eq!(stuck.code, 2);
    assert!(stuck.err.contains("\"tag\"") && stuck.err.contains("SQLSTATE 23514"), "{}", stuck.err);
    world.database.run("alter table tag drop constraint tenancy_not_null").await;
    let rest = adopt(&world, &["--run"]);
    assert_eq!(rest.code, 0, "{}", rest.err);
    let done = adopted(&rest);
    assert!(0 < done && done < planned, "{done} of {planned}");
    assert_eq!(adopt(&world, &[]).out, "");
}

#[tokio::test]
async fn a_row_key_or_life_that_fits_not_is_a_clear_error() {
    let world = old().await;
    let owner = world.database.url(OWNER);
    for (arguments, said) in [
        (&["--row-key", "hunter2"][..], "--row-key: this is no row key of the declared type, bigint"),
        (&["--row-key", "7", "--life", "hunter2"], "--life"),
        (&["--row-key", "7"], "--life: the registry needs it"),
        (&["--life", LIFE], "--row-key"),
        (&["--row-key", "7", "--life", LIFE, "--json", "--run"], "--run"),
    ] {
        let ran = world.run_with_url(&owner, &[&["policy", "adopt", "--app", APP], arguments].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.err.contains(said) && !ran.err.contains("hunter2"), "{arguments:?}: {}", ran.err);
    }
    // A key that is a uuid is the life.
    world.write("tenancy.toml", &TOML.replace("bigint", "uuid").replace("tag", "label"));
    world.database.run_as_owner("create table label (id int primary key)").await;
    let ran =
        world.run_with_url(&owner, &["policy", "adopt", "--app", APP, "--cut-off", OWNER, "--row-key", LIFE, "--run"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lives = texts(&world.database.superuser_options(), "select life::text from tenancy.tenant").await;
    assert_eq!(lives, [LIFE]);
}

/// Whoever is forgotten would see no rows and no error: named in a dry run, and a run does not begin.
#[tokio::test]
async fn a_login_that_was_forgotten_is_named_and_stops_the_run() {
    let world = old().await;
    let forgotten = format!("forgotten_{}", world.database.name());
    world.database.run(&format!("create role {forgotten} login; grant select, insert on note to {forgotten}")).await;
    let line = format!(
        "tenancy: \"{forgotten}\" (SELECT, INSERT on public.note) will see no rows once FORCE is on; declare it in \
         legacy-roles, or say --cut-off {forgotten}\n"
    );
    let dry = adopt(&world, &[]);
    assert_eq!((dry.code, dry.err.as_str()), (0, line.as_str()));
    assert!(dry.out.contains("-- 1/"), "{}", dry.out);
    let run = adopt(&world, &["--run"]);
    assert_eq!((run.code, run.out.as_str()), (2, ""));
    assert!(run.err.starts_with(&line) && run.err.contains("nothing was changed"), "{}", run.err);
    assert_eq!(adopt(&world, &[]).out, dry.out, "nothing was begun");
    let meant = adopt(&world, &["--cut-off", &forgotten, "--run"]);
    assert_eq!(meant.code, 0, "{}", meant.err);
    world.database.run(&format!("drop owned by {forgotten}; drop role {forgotten}")).await;
}

/// What can't be planned is said in words, with what to do, and nothing is begun.
#[tokio::test]
async fn what_can_not_be_planned_is_said_before_the_first_step() {
    let world = old().await;
    let own = |role: &str| TOML.replace("'control'", &format!("'{role}'"));
    for (toml, app, said) in [
        (TOML.to_owned(), "apq", "there is no role \"apq\" (CREATE ROLE \"apq\" LOGIN)"),
        (own(APP), APP, "can't be the service's role: make one of its own (docs/postgres/adopt.md, step 2)"),
        (own("contrl"), APP, "there is no role \"contrl\" (it is declared in legacy-roles"),
        (TOML.replace("2099", "2020"), APP, "the day of the legacy role \"control\" is past (2020-01-01)"),
        (TOML.replace("'tag'", "'tga'"), APP, "\"public\".\"tga\" is declared and is not there: run your migrations"),
        (format!("{TOML}\nreport = [{{ table = 'note', columns = ['id'] }}]"), APP, "name their role with --report"),
    ] {
        world.write("tenancy.toml", &toml);
        for run in [&["--run"][..], &[]] {
            let always = ["policy", "adopt", "--app", app, "--row-key", "7", "--life", LIFE, "--cut-off", OWNER];
            let ran = world.run_with_url(&world.database.url(OWNER), &[&always, run].concat());
            assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{said}");
            assert!(ran.err.contains(said), "{said}: {}", ran.err);
        }
    }
    let generate = |app| world.run(&["policy", "generate", "--app", app]);
    world.write("tenancy.toml", &own(APP));
    assert!(generate(APP).err.contains("can't be the service's role"));
    assert_eq!(generate("another").code, 0);
}

/// The service may look, and nothing more: it is said who may.
#[tokio::test]
async fn only_the_owner_adopts() {
    let world = old().await;
    let always = ["policy", "adopt", "--app", APP, "--cut-off", OWNER, "--row-key", "7", "--life", LIFE];
    let ran = world.run(&[always.as_slice(), &["--run"]].concat());
    assert!(ran.code == 2 && ran.err.contains("connect as the owner of the tables"), "{}", ran.err);
}
