//! What a key costs over one hash of the same bytes, and over a key that is written by hand.

use super::Bench;
use crate::bench::table::{self, Reach, Row};
use crate::failure::Failure;

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>, Failure> {
    eprintln!("Keys of four kibibytes.");
    let mut program = bench.start(&["keys"])?;
    let ways = ["ours", "blake3", "json_sha256"];
    let (response, runs) = bench.rounds(&mut program, &ways, "response 1 1 0", 80)?;
    let (embedding, _) = bench.rounds(&mut program, &ways[..2], "embedding 1 1 0", 80)?;
    // A call of the program derives a thousand keys.
    let row = |id: &str, of: &[Vec<f64>], against: usize, reach| {
        let (ours, against) = (table::median(of.first()), table::median(of.get(against)));
        Row::new(format!("cache.{id}"), ours, against, Some(Reach::Ratio(reach)), "ns", runs)
    };
    Ok(vec![
        row("key_vs_blake3", &response, 1, 1.2),
        row("key_vs_blake3.embedding", &embedding, 1, 1.2),
        row("key_vs_json_sha256", &response, 2, 1.0),
    ])
}
