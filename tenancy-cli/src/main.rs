//! The command `tenancy`: what a service's engineers and their CI do with a database before the service meets it.
//!
//! ```console
//! $ tenancy init > tenancy.toml          # proposes a declaration from a live database
//! $ tenancy inspect                      # does this database keep tenants apart, for this role?
//! $ tenancy policy diff --app app        # what is missing, as a migration
//! $ tenancy policy probe --a 7 --b 17    # and does it? two tenants, in a copy
//! ```
//!
//! Exit codes: 0, nothing that counts was found; 1, something fatal was; 2, it could not look, or the command line is
//! wrong; 3, warnings were found and `--deny-warnings` was given.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod around;
mod failure;
mod fix_sql;
mod init;
mod inspect;
mod output;
mod policy;
mod probe_salt;
mod signing_key;
mod vectors;
mod verdict;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::failure::Failure;
use crate::verdict::Verdict;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(verdict) => verdict.into(),
        Err(failure) => {
            output::tell(failure);
            Verdict::COULD_NOT_LOOK.into()
        }
    }
}

fn run(cli: Cli) -> Result<Verdict, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::Runtime)?;
    runtime.block_on(async {
        match cli.command {
            Command::Init(options) => init::run(options).await,
            Command::Inspect(options) => inspect::run(options).await,
            Command::Policy(options) => policy::run(options).await,
            Command::SigningKey(options) => signing_key::run(options),
            Command::Vectors(options) => vectors::run(&options),
            Command::ProbeSalt(options) => probe_salt::run(options).await,
        }
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
