//! Vectors: ours beside the request that one would write by hand, and what is found among many tenants.

mod ingest;
mod memory;
mod pivots;
mod promotion;
mod queries;
mod recall;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::program::{self, Program};
use super::table::{self, Row};
use crate::failure::Failure;
use crate::shell;

/// The program that measures, and the server that it asks.
struct Bench<'a> {
    program: &'a Path,
    server: Program,
    url: String,
    quick: bool,
    /// Where drawings go.
    folder: PathBuf,
}

/// One of its parts, and what it measured.
type Part = fn(&mut Bench<'_>) -> Result<Vec<Row>, Failure>;

#[derive(Deserialize)]
struct Ready {
    url: String,
}

#[derive(Deserialize)]
struct Empty {}

pub(super) fn run(quick: bool, json: bool) -> Result<(), Failure> {
    let folder = shell::root().join("target/bench");
    std::fs::create_dir_all(&folder).map_err(Failure::at(folder.display()))?;
    eprintln!("Building for release: with the vector engine, a quarter of an hour the first time on two cores.");
    let program = program::build("tenancy-bench-vector", "vector")?;
    let (server, Ready { url }) = Program::start(Command::new(&program).arg("server"))?;
    let mut bench = Bench { program: &program, server, url, quick, folder: folder.clone() };
    let file = folder.join("vector.json");
    let mut rows = Vec::new();
    let parts: [Part; 6] = [queries::rows, recall::rows, pivots::rows, ingest::rows, memory::rows, promotion::rows];
    for part in parts {
        rows.extend(part(&mut bench)?);
        // What was measured is there whatever becomes of the rest.
        table::write(&file, &rows)?;
    }
    if json {
        return table::print_json(&rows);
    }
    table::print(&rows);
    Ok(())
}

impl Bench<'_> {
    /// Starts one of the parts of the program, on the server.
    fn start<T: serde::de::DeserializeOwned>(&mut self, part: &[&str]) -> Result<(Program, T), Failure> {
        let (name, rest) = part.split_first().ok_or_else(|| Failure::new("a part has a name"))?;
        Program::start(Command::new(self.program).arg(name).arg(&self.url).args(rest))
    }

    /// The server keeps every request, for tests to look at. Not for us.
    fn forget(&mut self) -> Result<(), Failure> {
        self.server.ask("clear").map(|Empty {}| ())
    }
}
