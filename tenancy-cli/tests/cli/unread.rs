//! Whoever reads may stop reading, as `head` does.

use std::process::{Command, Stdio};

use tenancy_testkit::{APP, OWNER};

use crate::common::{World, texts};

const TOML: &str = "[database]\ntenant-tables = [{ table = 'note', column = 'tenant_id', type = 'bigint' }]";

/// Runs the program with a closed stdout or stderr: its exit code, and what it wrote to the other.
fn unread(world: &World, url: &str, arguments: &[&str], out: bool) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenancy"));
    command.args(arguments).current_dir(world.folder.path()).env("DATABASE_URL", url);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    if out {
        drop(child.stdout.take())
    } else {
        drop(child.stderr.take())
    }
    let ended = child.wait_with_output().unwrap();
    let heard = if out { ended.stderr } else { ended.stdout };
    (ended.status.code(), String::from_utf8(heard).unwrap())
}

#[tokio::test]
async fn output_that_nobody_reads_changes_nothing_else() {
    let world = World::new("create table note (id int primary key); insert into note values (1)").await;
    world.write("tenancy.toml", TOML);
    let (app, owner) = (world.database.url(APP), world.database.url(OWNER));
    let adopt = ["policy", "adopt", "--app", APP, "--cut-off", OWNER, "--row-key", "7"];
    let harden = ["policy", "harden", "--owner", OWNER, "--app", APP];
    assert_eq!(world.run(&["signing-key", "new", "--out", "key"]).code, 0);
    for (url, arguments) in [
        (&app, &["init"][..]),
        (&app, &["inspect"]),
        (&app, &["inspect", "--json"]),
        (&app, &["inspect", "--sarif"]),
        (&app, &["inspect", "--fix-sql"]),
        (&app, &["policy", "generate", "--app", APP]),
        (&owner, &["policy", "diff", "--app", APP]),
        (&owner, &["policy", "diff", "--app", APP, "--json"]),
        (&owner, &adopt),
        (&app, &harden),
        (&app, &["signing-key", "sql", "key"]),
    ] {
        let read = world.run_with_url(url, arguments);
        assert!(!read.out.is_empty(), "{arguments:?}");
        assert_eq!(unread(&world, url, arguments, true), (Some(read.code), read.err), "{arguments:?}");
    }
    // An adoption under way goes on to its end, whoever listens.
    let (code, out) = unread(&world, &owner, &[adopt.as_slice(), &["--run"]].concat(), false);
    assert_eq!((code, out.as_str()), (Some(0), ""));
    assert_eq!(texts(&world.database.superuser_options(), "select tenant_id::text from note").await, ["7"]);
}
