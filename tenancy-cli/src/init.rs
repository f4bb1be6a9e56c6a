//! `tenancy init`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::args::Target;
use crate::failure::Failure;
use crate::output::{print, say};
use crate::verdict::Verdict;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    target: Target,
    /// The tenant column, where it has an unusual name.
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// Write the proposal here instead of printing it. An existing file is left alone.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) async fn run(options: Options) -> Result<Verdict, Failure> {
    let proposal = tenancy_pg::propose(&options.target.options()?, options.column.as_deref()).await?;
    match options.out {
        None => print(proposal)?,
        Some(path) => {
            let written = std::fs::File::create_new(&path).and_then(|mut file| write!(file, "{proposal}"));
            written.map_err(|source| Failure::Write { path: path.display().to_string(), source })?;
            let (tenant, undecided) = (proposal.tenant.len(), proposal.undecided.len());
            say(format_args!("{}: {tenant} tenant tables; {undecided} relations are yours to decide", path.display()));
        }
    }
    Ok(Verdict::PASSED)
}
