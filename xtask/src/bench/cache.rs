//! Caches: ours beside the key, the look and the put that one would write by hand.

mod calls;
mod deletions;
mod heap;
mod keys;

use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::program::{self, Program};
use super::table::{self, Row};
use crate::failure::Failure;
use crate::shell;

/// The program that measures times, and the one that counts the heap.
struct Bench {
    times: PathBuf,
    heap: PathBuf,
    quick: bool,
}

/// One of its parts, and what it measured.
type Part = fn(&Bench) -> Result<Vec<Row>, Failure>;

#[derive(Deserialize)]
struct Empty {}

#[derive(Deserialize)]
struct Times {
    p50: f64,
}

pub(super) fn run(quick: bool, json: bool) -> Result<(), Failure> {
    let folder = shell::root().join("target/bench");
    std::fs::create_dir_all(&folder).map_err(Failure::at(folder.display()))?;
    eprintln!("Building for release: some minutes the first time.");
    let build = |bench| program::build("tenancy-bench-cache", bench);
    let bench = Bench { times: build("cache")?, heap: build("heap")?, quick };
    let file = folder.join("cache.json");
    let mut rows = Vec::new();
    let parts: [Part; 6] =
        [keys::rows, heap::rows, calls::in_memory, calls::on_redis, deletions::on_redis, deletions::in_memory];
    for part in parts {
        rows.extend(part(&bench)?);
        // What was measured is there whatever becomes of the rest.
        table::write(&file, &rows)?;
    }
    if json {
        return table::print_json(&rows);
    }
    table::print(&rows);
    Ok(())
}

impl Bench {
    /// Starts one of the parts of the program.
    fn start(&self, part: &[&str]) -> Result<Program, Failure> {
        Program::start(Command::new(&self.times).args(part)).map(|(program, Empty {})| program)
    }

    /// The times of each way in rounds of so many milliseconds, each of which begins with another way. So many rounds.
    fn rounds(
        &self,
        program: &mut Program,
        ways: &[&str],
        rest: &str,
        milliseconds: u32,
    ) -> Result<(Vec<Vec<f64>>, usize), Failure> {
        let rounds = if self.quick { 3 } else { 33 };
        let mut all = vec![Vec::new(); ways.len()];
        for round in 0..rounds {
            for way in (0..ways.len()).cycle().skip(round).take(ways.len()) {
                let command = format!("round {} {rest} {milliseconds}", ways[way]);
                all[way].push(ask::<Times>(program, &command)?.p50);
            }
        }
        Ok((all, rounds))
    }
}

fn ask<T: DeserializeOwned>(program: &mut Program, command: &str) -> Result<T, Failure> {
    program.ask(command)
}
