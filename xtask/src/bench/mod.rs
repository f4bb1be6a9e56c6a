//! `cargo xtask bench AREA`: what the isolation costs, as ratios side by side in one run.

mod pg;
mod program;
mod table;

use clap::{Args, ValueEnum};

use crate::failure::Failure;

#[derive(Args)]
pub(crate) struct Options {
    /// What to measure.
    area: Area,
    /// A short run: three rounds instead of eleven.
    #[arg(long)]
    quick: bool,
    /// Print the JSON instead of the table.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Area {
    /// Postgres.
    Pg,
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    match options.area {
        Area::Pg => pg::run(options.quick, options.json),
    }
}
