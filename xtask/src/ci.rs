//! `cargo xtask ci`: every check, the cheap ones first, and every test at the end.

use std::process::Command;
use std::time::Instant;

use clap::Args;

use crate::failure::Failure;
use crate::{arch, guardrails, leftovers, policy, shell, test};

#[derive(Args)]
pub(crate) struct Options {
    /// Stop before the tests.
    #[arg(long)]
    checks_only: bool,
}

/// A step, what it runs, and the line that repeats it alone.
type Step = (&'static str, fn() -> Result<(), Failure>, &'static str);

const CHECKS: &[Step] = &[
    ("format", format, "cargo fmt --all"),
    ("left-overs", leftovers::run, "cargo xtask leftovers"),
    ("architecture", arch::run, "cargo xtask arch"),
    ("bans and licences", policy::run, "cargo xtask policy"),
    ("clippy", clippy, "cargo clippy --workspace --all-targets --all-features -- -D warnings"),
    ("lint fragment", guardrails::run, "cargo xtask guardrails"),
    ("docs", docs, "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --all-features --no-deps"),
];

const TESTS: Step = ("tests", || test::run(&test::Options::default()), "cargo xtask test");

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let start = Instant::now();
    let tests = (!options.checks_only).then_some(&TESTS);
    let steps: Vec<&Step> = CHECKS.iter().chain(tests).collect();
    for (number, step) in steps.iter().enumerate() {
        timed(number + 1, steps.len(), step)?;
    }
    println!("\nci: {} steps passed in {}", steps.len(), shell::since(start));
    Ok(())
}

fn timed(number: usize, of: usize, (name, check, repeat): &Step) -> Result<(), Failure> {
    println!("\n== {number}/{of} {name}");
    let start = Instant::now();
    check().map_err(|failure| Failure::new(format!("{failure}\n\n{name} failed. To repeat it: {repeat}")))?;
    println!("== {name}: {}", shell::since(start));
    Ok(())
}

fn format() -> Result<(), Failure> {
    shell::run(shell::cargo().args(["fmt", "--all", "--", "--check"]))
}

fn clippy() -> Result<(), Failure> {
    shell::run(whole("clippy").args(["--all-targets", "--", "-D", "warnings"]))
}

/// Of the core without its features too: a link into what a feature brings would be broken there.
fn docs() -> Result<(), Failure> {
    shell::run(whole("doc").arg("--no-deps").env("RUSTDOCFLAGS", "-D warnings"))?;
    let mut bare = shell::cargo();
    shell::run(bare.args(["doc", "--package", "tenancy-core", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

fn whole(subcommand: &str) -> Command {
    let mut command = shell::cargo();
    command.args([subcommand, "--workspace", "--all-features"]);
    command
}
