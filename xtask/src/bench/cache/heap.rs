//! What keys, looks, entries and lives take of the heap.

use std::collections::BTreeMap;
use std::process::Command;

use serde::Deserialize;

use super::Bench;
use crate::bench::program::Program;
use crate::bench::table::{Reach, Row};
use crate::failure::Failure;

#[derive(Deserialize)]
struct Taken {
    ours: f64,
    against: f64,
}

/// Beside a key that is written by hand, a plain concurrent map, and an empty one.
pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>, Failure> {
    eprintln!("What is taken of the heap.");
    let (_program, taken) = Program::start::<BTreeMap<String, Taken>>(&mut Command::new(&bench.heap))?;
    let row = |id: &str, reach, unit| {
        let Taken { ours, against } =
            taken.get(id).ok_or_else(|| Failure::new(format!("nothing was counted for {id}")))?;
        Ok(Row::new(format!("cache.{id}"), *ours, *against, reach, unit, 1))
    };
    [
        ("key_allocations", Some(Reach::AtMost(0.0)), "calls"),
        ("get_allocations", None, "calls"),
        ("bytes_of_an_entry", None, "bytes"),
        ("bytes_of_a_life", None, "bytes"),
    ]
    .into_iter()
    .map(|(id, reach, unit)| row(id, reach, unit))
    .collect()
}
