//! What a bench prints and writes.

use std::path::Path;

use serde::Serialize;

use crate::failure::Failure;

/// One comparison: medians over interleaved rounds.
#[derive(Serialize)]
pub(super) struct Row {
    id: String,
    ours: f64,
    against: f64,
    ratio: f64,
    /// The most that `ratio` may be, where a limit is set.
    reach: Option<f64>,
    unit: &'static str,
    runs: usize,
}

impl Row {
    pub(super) fn new(
        id: String,
        ours: f64,
        against: f64,
        reach: Option<f64>,
        unit: &'static str,
        runs: usize,
    ) -> Self {
        let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
        Self { id, ours: rounded(ours), against: rounded(against), ratio: rounded(ours / against), reach, unit, runs }
    }
}

#[derive(Serialize)]
struct Rows<'a> {
    rows: &'a [Row],
}

fn json(rows: &[Row]) -> Result<String, Failure> {
    serde_json::to_string_pretty(&Rows { rows }).map_err(|e| Failure::new(e.to_string()))
}

pub(super) fn write(file: &Path, rows: &[Row]) -> Result<(), Failure> {
    std::fs::write(file, json(rows)? + "\n").map_err(Failure::at(file.display()))
}

pub(super) fn print_json(rows: &[Row]) -> Result<(), Failure> {
    println!("{}", json(rows)?);
    Ok(())
}

pub(super) fn print(rows: &[Row], trips: &[(&str, f64)]) -> Result<(), Failure> {
    println!("\n{:<52} {:>9} {:>9} {:>6} {:>6}", "", "ours", "against", "ratio", "reach");
    for Row { id, ours, against, ratio, reach, unit, runs: _ } in rows {
        let reach = reach.map_or(String::new(), |reach| format!("{reach:.2}"));
        println!("{id:<52} {ours:>6.0} {unit} {against:>6.0} {unit} {ratio:>6.2} {reach:>6}");
    }
    println!("\nround-trips of one read by its key, what goes on behind the scenes included:");
    for (way, count) in trips {
        println!("{way:<52} {count:>9.2}");
    }
    Ok(())
}
