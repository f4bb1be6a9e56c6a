//! `cargo xtask demo`: the RAG backend, run against itself.

use std::os::unix::process::CommandExt;

use clap::Args;

use crate::failure::Failure;
use crate::{servers, shell};

/// With DATABASE_URL set, and not empty, that server is used and none is started.
#[derive(Args)]
pub(crate) struct Options {
    /// What the demo itself takes: `cargo xtask demo -- --help`.
    #[arg(last = true)]
    args: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    if std::env::var_os("DATABASE_URL").is_none_or(|url| url.is_empty()) {
        servers::ensure_postgres()?;
    }
    let mut command = shell::cargo();
    command.args(["run", "--package", PACKAGE, "--example", "demo", "--"]).args(&options.args);
    // We become the demo instead of waiting for it: Ctrl-C, other signals and the exit status are then its own, and it
    // cleans up behind itself.
    Err(Failure::at(shell::line(&command))(command.exec()))
}

const PACKAGE: &str = "rag-backend";
