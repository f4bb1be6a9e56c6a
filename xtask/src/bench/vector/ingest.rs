//! How fast points go in.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Bench, Empty};
use crate::bench::table::{self, Row};
use crate::failure::Failure;

#[derive(Deserialize)]
struct Rate {
    rate: f64,
}

pub(super) fn rows(bench: &mut Bench<'_>) -> Result<Vec<Row>, Failure> {
    let (rounds, points) = if bench.quick { (1, 500) } else { (5, 2_000) };
    let (mut program, Empty {}) = bench.start(&["ingest"])?;
    let mut all = BTreeMap::<(&str, u32), Vec<f64>>::new();
    for round in 0..rounds {
        eprintln!("Ingest, round {} of {rounds}.", round + 1);
        for batch in BATCHES {
            for way in WAYS.iter().cycle().skip(round).take(WAYS.len()) {
                let Rate { rate } = program.ask(&format!("ingest {way} {batch} {points}"))?;
                all.entry((way, *batch)).or_default().push(rate);
                bench.forget()?;
            }
        }
    }
    let mut rows = Vec::new();
    for batch in BATCHES {
        let median = |way| table::median(all.get(&(way, *batch)));
        for (name, ours, against) in PAIRS {
            let id = format!("vector.{name}.batch{batch}");
            rows.push(Row::new(id, median(*ours), median(*against), None, "points/s", rounds));
        }
    }
    Ok(rows)
}

const BATCHES: &[u32] = &[100, 500];
const WAYS: &[&str] = &["server", "server_raw", "embedded", "embedded_raw", "embedded_raw_singly"];
/// The last says what it costs to store points one by one, without us.
const PAIRS: &[(&str, &str, &str)] = &[
    ("ingest", "server", "server_raw"),
    ("edge.ingest", "embedded", "embedded_raw"),
    ("edge.ingest_singly", "embedded_raw_singly", "embedded_raw"),
];
