//! How long it takes to move a tenant while it is read and written.

use serde::Deserialize;

use super::Bench;
use crate::bench::table::Row;
use crate::failure::Failure;

#[derive(Deserialize)]
struct Moved {
    stored: f64,
    there: f64,
    back: f64,
    write_before: f64,
    write_during: f64,
    read_before: f64,
    read_during: f64,
}

pub(super) fn rows(bench: &mut Bench<'_>) -> Result<Vec<Row>, Failure> {
    let points = if bench.quick { 500 } else { 2_000 };
    eprintln!("Moving a tenant with {points} points.");
    let (_, moved): (_, [Moved; 2]) = bench.start(&["promotion", &points.to_string()])?;
    bench.forget()?;
    let mut rows = Vec::new();
    for (to, moved) in ["collection", "edge"].iter().zip(moved) {
        let Moved { stored, there, back, write_before, write_during, read_before, read_during } = moved;
        let mut row = |name: &str, ours, against, unit| {
            rows.push(Row::new(format!("vector.promotion.{to}.{name}"), ours, against, None, unit, 1));
        };
        // Beside how fast the same points were stored to begin with.
        row("there", there, stored, "points/s");
        row("back", back, stored, "points/s");
        row("longest_write", write_during, write_before, "ms");
        row("read", read_during, read_before, "us");
    }
    Ok(rows)
}
