//! The project's own commands: `cargo xtask --help` lists them.
//!
//! Every command works from any folder of the clone, uses one target folder, and says what to type when something of
//! the system is missing.

mod arch;
mod bench;
mod ci;
mod demo;
mod failure;
mod guardrails;
mod laws;
mod leftovers;
mod policy;
mod servers;
mod shell;
mod test;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own commands.", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the RAG backend on a throwaway Postgres and play its two tenants against each other.
    Demo(demo::Options),
    /// Run every test: unit, property, doc, compile-fail and integration.
    Test(test::Options),
    /// Run all checks, the cheap ones first, then every test.
    Ci(ci::Options),
    /// Measure what the isolation costs, as ratios side by side; builds for release first.
    Bench(bench::Options),
    /// Check which member depends on which, and where each driver may be used.
    Arch,
    /// Look for left-overs: unfinished work, hidden tests, lints hidden for ever, files that hold too much.
    Leftovers,
    /// Check the dependency graph against deny.toml: bans, licences, sources.
    Policy,
    /// Check that each path the lint fragment bans is found by clippy.
    Guardrails,
    /// Break one law after another with the patches of tests/breaks and see the named test go red.
    Laws(laws::Options),
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit_code()
        }
    }
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Demo(options) => demo::run(&options),
        Command::Test(options) => test::run(&options),
        Command::Ci(options) => ci::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Arch => arch::run(),
        Command::Leftovers => leftovers::run(),
        Command::Policy => policy::run(),
        Command::Guardrails => guardrails::run(),
        Command::Laws(options) => laws::run(&options),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
