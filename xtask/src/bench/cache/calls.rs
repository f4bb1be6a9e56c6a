//! What looking and putting cost over the plain clients.

use std::time::Instant;

use serde::Deserialize;

use super::{Bench, Times, ask};
use crate::bench::table::{self, Reach, Row};
use crate::failure::Failure;
use crate::shell;

/// One caller calls in both ways in turns.
#[derive(Deserialize)]
struct Turns {
    ours: Times,
    plain: Times,
}

#[derive(Deserialize)]
struct Ours {
    ours: Times,
}

#[derive(Deserialize)]
struct Plain {
    plain: Times,
}

pub(super) fn in_memory(bench: &Bench) -> Result<Vec<Row>, Failure> {
    eprintln!("A look in this process.");
    let mut program = bench.start(&["process"])?;
    let (all, runs) = bench.rounds(&mut program, &["ours", "moka"], "get 1 1 0", 80)?;
    let (ours, against) = (table::median(all.first()), table::median(all.get(1)));
    // A call of the program looks a thousand times.
    Ok(vec![Row::new("cache.get_vs_moka".to_owned(), ours, against, None, "ns", runs)])
}

pub(super) fn on_redis(bench: &Bench) -> Result<Vec<Row>, Failure> {
    eprintln!("Filling a Redis.");
    let mut program = bench.start(&["redis"])?;
    let (rounds, milliseconds) = if bench.quick { (3, 100) } else { (33, 80) };
    let start = Instant::now();
    let mut all = vec![[Vec::new(), Vec::new()]; CASES.len()];
    for round in 0..rounds {
        eprintln!("round {} of {rounds}, {}", round + 1, shell::since(start));
        for ((work, callers, pause), [ours, plain]) in CASES.iter().zip(&mut all) {
            let rest = format!("{work} {callers} {TENANTS} {pause} {milliseconds}");
            if *callers == 1 {
                let turns: Turns = ask(&mut program, &format!("turns . {rest}"))?;
                ours.push(turns.ours.p50);
                plain.push(turns.plain.p50);
                continue;
            }
            for way in [round % 2, (round + 1) % 2] {
                if way == 0 {
                    ours.push(ask::<Ours>(&mut program, &format!("round ours {rest}"))?.ours.p50);
                } else {
                    plain.push(ask::<Plain>(&mut program, &format!("round plain {rest}"))?.plain.p50);
                }
            }
        }
    }
    let row = |((work, callers, pause), [ours, plain]): (&(&str, u32, u32), &[Vec<f64>; 2])| {
        let callers = if *callers == 1 { String::new() } else { format!(".callers{callers}") };
        let paced = if *pause == 0 { "" } else { ".paced" };
        let id = format!("cache.{work}_vs_redis{callers}{paced}");
        let reach = Some(Reach::Ratio(1.15));
        Row::new(id, table::median(Some(ours)), table::median(Some(plain)), reach, "us", rounds)
    };
    Ok(CASES.iter().zip(&all).map(row).collect())
}

const TENANTS: u32 = 10;
/// What is done, by how many callers, with a pause of so many milliseconds between two calls of one. The first look of a
/// request leaves a record of the access, later ones do not.
const CASES: &[(&str, u32, u32)] = &[
    ("get", 1, 0),
    ("get", 1, 1),
    ("get_first", 1, 0),
    ("get_first", 1, 1),
    ("get", 16, 0),
    ("get", 256, 0),
    ("put", 1, 0),
    ("put", 1, 1),
];
