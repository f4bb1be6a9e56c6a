//! `cargo xtask test`: every test, once, on a machine that has only Rust.

mod report;
mod suites;

use std::io::BufReader;
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::Args;

use self::report::Report;
use crate::failure::Failure;
use crate::{servers, shell};

#[derive(Args, Default)]
pub(crate) struct Options {
    /// Full size: twenty times the cases in every test that counts cases.
    #[arg(long)]
    full: bool,
    /// Run only the tests whose name contains this.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let start = Instant::now();
    // The tests start servers of their own, whatever DATABASE_URL says.
    servers::ensure_all()?;
    println!(
        "Building all tests. The first time, with all dependencies, takes about a quarter of an hour on two cores."
    );
    let suites = suites::build(cargo_test(options))?;
    println!("\n{} suites and the doc tests, built in {}.\n", suites.len(), shell::since(start));

    let mut command = cargo_test(options);
    command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never");
    command.arg("--no-fail-fast").arg("--").args(&options.filter);
    // Cargo's lines and the tests' go through one pipe, or their order would be lost.
    let (reader, writer) = std::io::pipe().map_err(Failure::at("pipe"))?;
    let second = writer.try_clone().map_err(Failure::at("pipe"))?;
    command.stdin(Stdio::null()).stdout(writer).stderr(second);
    let mut child = command.spawn().map_err(Failure::at("cargo test"))?;
    // The command holds the pipe's other end open.
    drop(command);
    let mut report = Report::new(suites, std::io::stdout());
    report.follow(BufReader::new(reader)).map_err(Failure::at("reading from cargo test"))?;
    let status = child.wait().map_err(Failure::at("cargo test"))?;
    report.close(status.success(), start)
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

/// The one setting for counts: tests multiply theirs by it. Proptest reads a variable of its own, which follows.
const SCALE: &str = "TENANCY_TEST_SCALE";
const FULL: u32 = 20;
const PROPTEST_DEFAULT: u32 = 256;
