//! `cargo xtask bench AREA`: what the isolation costs, as ratios side by side in one run.

mod cache;
mod pg;
mod plot;
mod program;
mod table;
mod vector;

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
    /// Caches: a Redis, and a tenant with a million entries; five minutes.
    Cache,
    /// Postgres.
    Pg,
    /// Vectors: the first build for release, with the engine, takes a quarter of an hour on two cores, a run ten minutes.
    Vector,
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    match options.area {
        Area::Cache => cache::run(options.quick, options.json),
        Area::Pg => pg::run(options.quick, options.json),
        Area::Vector => vector::run(options.quick, options.json),
    }
}
