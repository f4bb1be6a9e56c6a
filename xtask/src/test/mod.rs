//! `cargo xtask test`: every test, once, on a machine that has only Rust.

mod report;
mod suites;

use std::collections::BTreeSet;
use std::io::{BufReader, Stdout};
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::Args;

use self::report::Report;
use self::suites::Suites;
use crate::failure::Failure;
use crate::servers::{self, Choice};
use crate::shell;

#[derive(Args, Default)]
pub(crate) struct Options {
    /// Full size: twenty times the cases in every test that counts cases.
    #[arg(long)]
    full: bool,
    /// Which Postgres: `all` (the installed one, and on 16 and 18 what talks to a server), `installed`, or a version.
    #[arg(long, value_name = "WHICH", default_value = "all")]
    postgres: Choice,
    /// Run only the tests whose name contains this, and the programs of tests whose path does: `fence`,
    /// `tenancy-core/tests/fence`. All tests are built first, whatever is run.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let start = Instant::now();
    // The tests start servers of their own, whatever DATABASE_URL says.
    let servers = servers::ensure(options.postgres)?;
    let with_pgvector = servers::ensure_pgvector()?;
    println!(
        "Building all tests. The first time, with all dependencies, takes about a quarter of an hour on two cores."
    );
    let suites = suites::build(cargo_test(options))?;
    println!("\n{} suites and the doc tests, built in {}.\n", suites.len(), shell::since(start));

    // Everything on the first server, and on each of the others what talks to one.
    let mut report = Report::new(suites, std::io::stdout());
    let mut success = true;
    for (number, server) in servers.iter().enumerate() {
        if number > 0 {
            report.now_on(server.major);
        }
        for (programs, names) in runs(report.suites(), options.filter.as_deref(), number == 0) {
            let mut command = cargo_test(options);
            // A server that was fetched has pgvector.
            command.env(servers::PGVECTOR, server.programs.as_ref().unwrap_or(&with_pgvector));
            if let Some(programs) = &server.programs {
                command.env("TENANCY_POSTGRES_BIN", programs);
            }
            command.args(programs).arg("--no-fail-fast").arg("--").args(names);
            success &= follow(command, &mut report)?;
        }
    }
    report.close(success, start)
}

/// What `cargo test` is called with: the arguments that select programs, and those that select tests in them. With a
/// filter first the tests that it names, then the programs that it names, without those tests.
fn runs(suites: &Suites, filter: Option<&str>, first_server: bool) -> Vec<(Vec<String>, Vec<String>)> {
    let here = |suite: &str| first_server || ON_EACH_SERVER.iter().any(|prefix| suite.starts_with(prefix));
    let everything = if first_server { Vec::new() } else { programs(suites, here) };
    let Some(text) = filter else { return vec![(everything, Vec::new())] };
    let mut runs = vec![(everything, vec![text.to_owned()])];
    let named = programs(suites, |suite| here(suite) && suite.contains("/tests/") && suite.contains(text));
    if !named.is_empty() {
        runs.push((named, vec!["--skip".to_owned(), text.to_owned()]));
    }
    runs
}

/// Runs the tests and tells the report; says whether all is well.
fn follow(mut command: Command, report: &mut Report<Stdout>) -> Result<bool, Failure> {
    command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never");
    // Cargo's lines and the tests' go through one pipe, or their order would be lost.
    let (reader, writer) = std::io::pipe().map_err(Failure::at("pipe"))?;
    let second = writer.try_clone().map_err(Failure::at("pipe"))?;
    command.stdin(Stdio::null()).stdout(writer).stderr(second);
    let mut child = command.spawn().map_err(Failure::at("cargo test"))?;
    // The command holds the pipe's other end open.
    drop(command);
    report.follow(BufReader::new(reader)).map_err(Failure::at("reading from cargo test"))?;
    Ok(child.wait().map_err(Failure::at("cargo test"))?.success())
}

/// The arguments that select test programs.
fn programs(suites: &Suites, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let wanted = suites.values().filter(|suite| wanted(suite));
    let names: BTreeSet<&str> = wanted.filter_map(|suite| suite.rsplit('/').next()).collect();
    names.into_iter().flat_map(|name| ["--test".to_owned(), name.to_owned()]).collect()
}

/// All features at once: none of them opens or closes anything, so what passes together is what each offers, and the
/// lint run, the docs and the tests build the same things once.
fn cargo_test(options: &Options) -> Command {
    let mut command = shell::cargo();
    command.args(["test", "--workspace", "--all-features"]);
    if options.full {
        command.env(SCALE, FULL.to_string()).env("PROPTEST_CASES", (FULL * PROPTEST_DEFAULT).to_string());
    }
    command
}

/// Suites whose names begin like this talk to a Postgres.
const ON_EACH_SERVER: &[&str] = &[
    "tenancy-pg/tests/",
    "tenancy-vector/tests/pgvector",
    "tenancy-cli/tests/cli",
    "tenancy-testkit/tests/servers",
    "tests/tests/stores",
];

/// The one setting for counts: tests multiply theirs by it. Proptest reads a variable of its own, which follows.
const SCALE: &str = "TENANCY_TEST_SCALE";
const FULL: u32 = 20;
const PROPTEST_DEFAULT: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn suites() -> Suites {
        let suites = ["tenancy-pg/tests/postgres", "tenancy-pg (unit)", "tenancy-core/tests/fence"];
        suites.iter().map(|name| ((*name).to_owned(), (*name).to_owned())).collect()
    }

    fn arguments(filter: Option<&str>, first_server: bool) -> Vec<String> {
        let runs = runs(&suites(), filter, first_server).into_iter();
        runs.map(|(programs, names)| [programs, vec!["--".to_owned()], names].concat().join(" ")).collect()
    }

    #[test]
    fn what_talks_to_a_postgres_is_run_on_each() {
        assert_eq!(arguments(None, true), ["--"]);
        assert_eq!(arguments(None, false), ["--test postgres --"]);
    }

    #[test]
    fn a_filter_is_part_of_a_tests_name_or_of_its_programs_path_and_no_test_is_run_twice() {
        assert_eq!(arguments(Some("fence"), true), ["-- fence", "--test fence -- --skip fence"]);
        assert_eq!(arguments(Some("core/tests"), true), ["-- core/tests", "--test fence -- --skip core/tests"]);
        assert_eq!(arguments(Some("deadline"), true), ["-- deadline"]);
        assert_eq!(arguments(Some("fence"), false), ["--test postgres -- fence"]);
        assert_eq!(arguments(Some("pg"), false), ["--test postgres -- pg", "--test postgres -- --skip pg"]);
    }

    /// A new test program that starts a Postgres must be in the list.
    #[test]
    fn every_test_program_that_starts_a_postgres_is_in_the_list() {
        let root = shell::root();
        let mut found = Vec::new();
        for member in std::fs::read_dir(&root).unwrap().flatten() {
            for test in std::fs::read_dir(member.path().join("tests")).into_iter().flatten().flatten() {
                let mut files = vec![test.path()];
                files.extend(std::fs::read_dir(test.path()).into_iter().flatten().flatten().map(|file| file.path()));
                let starts = |file: &std::path::PathBuf| {
                    std::fs::read_to_string(file).is_ok_and(|text| STARTERS.iter().any(|word| text.contains(word)))
                };
                if files.iter().any(starts) {
                    let stem = test.path().file_stem().unwrap().to_string_lossy().into_owned();
                    found.push(format!("{}/tests/{stem}", member.file_name().to_string_lossy()));
                }
            }
        }
        assert!(found.iter().any(|suite| suite == "tenancy-pg/tests/postgres"), "{found:?}");
        let listed = |suite: &String| ON_EACH_SERVER.iter().any(|prefix| suite.starts_with(prefix));
        found.retain(|suite| !listed(suite));
        assert_eq!(found, Vec::<String>::new(), "not in ON_EACH_SERVER");
    }

    const STARTERS: &[&str] = &["ThrowawayPostgres", "TestStores"];
}
