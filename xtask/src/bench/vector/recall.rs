//! Of what a tenant has, how much is found among ten, a hundred and a thousand tenants.

use std::path::Path;

use serde::Deserialize;

use super::Bench;
use crate::bench::plot::Plot;
use crate::bench::table::{Reach, Row};
use crate::failure::Failure;

#[derive(Deserialize)]
struct Recall {
    asked: usize,
    filter: Found,
    post: Found,
    post_tenfold: Found,
    shard: Found,
}

#[derive(Deserialize)]
struct Found {
    recall10: f64,
    recall50: f64,
    rows50: f64,
    p50: f64,
}

pub(super) fn rows(bench: &mut Bench<'_>) -> Result<Vec<Row>, Failure> {
    let mut measured = Vec::new();
    for tenants in if bench.quick { [10, 100].as_slice() } else { &[10, 100, 1_000] } {
        eprintln!("Recall among {tenants} tenants.");
        let (_, recall): (_, Recall) = bench.start(&["recall", &tenants.to_string()])?;
        bench.forget()?;
        measured.push((*tenants, recall));
    }
    let mut rows = Vec::new();
    for (tenants, Recall { asked, filter, post, post_tenfold, shard }) in &measured {
        for (name, of) in [
            ("recall10", (|found| found.recall10) as fn(&Found) -> f64),
            ("recall50", |found| found.recall50),
            ("rows50", |found| found.rows50),
        ] {
            let (reach, unit) = match name {
                "rows50" => (Reach::AtLeast(50.0), "rows"),
                _ => (Reach::AtLeast(1.0), "part"),
            };
            for (way, ours, against) in
                [("", filter, post), (".over_tenfold", filter, post_tenfold), (".shards", shard, post)]
            {
                let id = format!("vector{way}.{name}_{tenants}");
                rows.push(Row::new(id, of(ours), of(against), Some(reach), unit, *asked));
            }
        }
    }
    let line = |name, way: fn(&Recall) -> f64| {
        (name, measured.iter().map(|(tenants, recall)| (f64::from(*tenants), way(recall))).collect::<Vec<_>>())
    };
    let recall = [
        line("tenant as a condition", |recall| recall.filter.recall50),
        line("a shard for each", |recall| recall.shard.recall50),
        line("filtered afterwards", |recall| recall.post.recall50),
        line("of ten times as many", |recall| recall.post_tenfold.recall50),
    ];
    let title = "Recall of a tenant's best fifty";
    save(&bench.folder, "vector-recall.svg", &Plot { title, unit: "part found", top: 1.0, lines: &recall })?;
    let times = [
        line("tenant as a condition", |recall| recall.filter.p50),
        line("a shard for each", |recall| recall.shard.p50),
        line("filtered afterwards", |recall| recall.post.p50),
        line("of ten times as many", |recall| recall.post_tenfold.p50),
    ];
    let most = times.iter().flat_map(|(_, points)| points).fold(1.0, |most: f64, (_, time)| most.max(*time));
    let title = "Time of a search for fifty, in the middle";
    let top = 10_f64.powf(most.log10().floor());
    let top = top * (most / top).ceil();
    save(&bench.folder, "vector-latency.svg", &Plot { title, unit: "microseconds", top, lines: &times })?;
    Ok(rows)
}

fn save(folder: &Path, name: &str, plot: &Plot<'_>) -> Result<(), Failure> {
    let file = folder.join(name);
    std::fs::write(&file, plot.svg()).map_err(Failure::at(file.display()))
}
