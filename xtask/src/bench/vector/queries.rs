//! What a search costs over the request that one would write by hand.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Deserialize;

use super::{Bench, Empty};
use crate::bench::table::{self, Reach, Row};
use crate::failure::Failure;
use crate::shell;

/// What is asked by how many callers at once, with a pause of so many milliseconds between two calls of one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    work: &'static str,
    callers: u32,
    pause: u32,
}

#[derive(Deserialize)]
struct Times {
    p50: f64,
}

pub(super) fn rows(bench: &mut Bench<'_>) -> Result<Vec<Row>, Failure> {
    eprintln!("Filling a collection and ten shards, and comparing what each way finds.");
    let (mut program, Empty {}) = bench.start(&["queries"])?;
    let (rounds, milliseconds) = if bench.quick { (3, 100) } else { (33, 80) };
    let start = Instant::now();
    let mut all = BTreeMap::<(Case, &'static str), Vec<f64>>::new();
    for round in 0..rounds {
        eprintln!("round {} of {rounds}, {}", round + 1, shell::since(start));
        for case in CASES {
            let Case { work, callers, pause } = case;
            // Each round begins with another way, so that none always follows the same one.
            for way in WAYS.iter().cycle().skip(round).take(WAYS.len()) {
                let times: Times =
                    program.ask(&format!("round {way} {work} {callers} {TENANTS} {pause} {milliseconds}"))?;
                all.entry((*case, way)).or_default().push(times.p50);
                bench.forget()?;
            }
        }
    }
    let mut rows = Vec::new();
    for case in CASES {
        let Case { work, callers, pause } = case;
        for (name, ours, against) in PAIRS {
            let work = if *work == "dense" { String::new() } else { format!(".{work}") };
            let callers = if *callers == 1 { String::new() } else { format!(".callers{callers}") };
            let paced = if *pause == 0 { "" } else { ".paced" };
            let id = format!("vector.{name}{work}{callers}{paced}");
            let median = |way| table::median(all.get(&(*case, way)));
            let reach = (*against == "raw").then_some(Reach::Ratio(1.05));
            rows.push(Row::new(id, median(*ours), median(*against), reach, "us", rounds));
        }
    }
    Ok(rows)
}

const TENANTS: u32 = 10;
const WAYS: &[&str] = &["ours_first", "ours_again", "raw", "edge_first", "edge_again", "edge_raw"];
/// The first search of a request leaves a record of the access, the others do not.
const PAIRS: &[(&str, &str, &str)] = &[
    ("query_vs_raw", "ours_first", "raw"),
    ("query_again_vs_raw", "ours_again", "raw"),
    ("edge.query_vs_raw", "edge_first", "edge_raw"),
    ("edge.query_again_vs_raw", "edge_again", "edge_raw"),
];
const fn case(work: &'static str, callers: u32, pause: u32) -> Case {
    Case { work, callers, pause }
}
const CASES: &[Case] =
    &[case("dense", 1, 0), case("dense", 1, 1), case("dense", 16, 0), case("hybrid", 1, 0), case("hybrid", 16, 0)];
