//! Ordinary questions of one tenant that bring up another's documents.

use serde::Deserialize;

use super::Bench;
use crate::bench::table::{Reach, Row};
use crate::failure::Failure;

#[derive(Deserialize)]
struct Pivots {
    corpus: String,
    asked: usize,
    server: usize,
    embedded: usize,
    unscoped: usize,
    recall: f64,
}

pub(super) fn rows(bench: &mut Bench<'_>) -> Result<Vec<Row>, Failure> {
    eprintln!("Ordinary questions among neighbours with the same words, names and dates.");
    let (_, corpora): (_, Vec<Pivots>) = bench.start(&["pivots"])?;
    bench.forget()?;
    let sum = |of: fn(&Pivots) -> usize| corpora.iter().map(of).sum::<usize>();
    let asked = sum(|corpus| corpus.asked);
    let rate = |of| sum(of) as f64 / asked as f64;
    let row = |id: &str, ours| {
        let against = rate(|corpus| corpus.unscoped);
        Row::new(format!("vector.{id}"), ours, against, Some(Reach::AtMost(0.0)), "part", asked)
    };
    let mut rows =
        vec![row("pivot_rate", rate(|corpus| corpus.server)), row("edge.pivot_rate", rate(|corpus| corpus.embedded))];
    // Beside a search that is alone, which finds all there is.
    rows.extend(corpora.iter().map(|Pivots { corpus, asked, recall, .. }| {
        let id = format!("vector.pivots.recall_{corpus}");
        Row::new(id, *recall, 1.0, Some(Reach::AtLeast(1.0)), "part", *asked)
    }));
    Ok(rows)
}
