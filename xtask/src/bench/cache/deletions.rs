//! What it costs to let go of much over little.

use serde::Deserialize;

use super::{Bench, Times, ask};
use crate::bench::table::{self, Reach, Row};
use crate::failure::Failure;

/// Microseconds in the middle of a round in which both take turns.
#[derive(Deserialize)]
struct Turns {
    few: Times,
    many: Times,
}

/// Microseconds of one deletion each.
#[derive(Deserialize)]
struct Deleted {
    few: f64,
    many: f64,
}

pub(super) fn on_redis(bench: &Bench) -> Result<Vec<Row>, Failure> {
    let entries = entries(bench);
    eprintln!("Filling a Redis with {entries} entries of one tenant, and one with ten.");
    let mut program = bench.start(&["deletions", "redis", entries])?;
    let runs = if bench.quick { 3 } else { 11 };
    let (mut few, mut many) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let turns: Turns = ask(&mut program, "turns . flush 1 1 0 1000")?;
        few.push(turns.few.p50);
        many.push(turns.many.p50);
    }
    Ok(vec![row("cache.delete_flat", &many, &few, runs)])
}

pub(super) fn in_memory(bench: &Bench) -> Result<Vec<Row>, Failure> {
    let entries = entries(bench);
    let runs = if bench.quick { 3 } else { 15 };
    let mut program = bench.start(&["deletions", "memory", entries])?;
    let (mut few, mut many) = (Vec::new(), Vec::new());
    for run in 1..=runs {
        eprintln!("Filling the memory with {entries} entries of one tenant, {run} of {runs}.");
        let deleted: Deleted = ask(&mut program, "run")?;
        few.push(deleted.few);
        many.push(deleted.many);
    }
    Ok(vec![row("cache.delete_flat.memory", &many, &few, runs)])
}

fn row(id: &str, many: &Vec<f64>, few: &Vec<f64>, runs: usize) -> Row {
    let (many, few) = (table::median(Some(many)), table::median(Some(few)));
    Row::new(id.to_owned(), many, few, Some(Reach::Ratio(1.2)), "us", runs)
}

const fn entries(bench: &Bench) -> &'static str {
    if bench.quick { "100000" } else { "1000000" }
}
