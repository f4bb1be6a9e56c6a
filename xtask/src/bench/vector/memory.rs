//! What points take, in memory and on disk.

use serde::Deserialize;

use super::Bench;
use crate::bench::table::Row;
use crate::failure::Failure;

#[derive(Deserialize, Clone, Copy)]
struct Taken {
    memory: f64,
    disk: f64,
}

/// A shard for each tenant beside one shard for all, of the engine alone. What a shard takes is what it takes with one
/// point in it; what a point takes is how much more it is with many.
pub(super) fn rows(bench: &mut Bench<'_>) -> Result<Vec<Row>, Failure> {
    let (tenants, points) = if bench.quick { (20, 200) } else { (50, 500) };
    eprintln!("What {tenants} tenants with {points} points each take.");
    let mut taken = |way, points: u32| -> Result<Taken, Failure> {
        let (_, taken) = bench.start(&["memory", way, &tenants.to_string(), &points.to_string()])?;
        Ok(taken)
    };
    let (few, many) = (taken("shards", 1)?, taken("shards", points)?);
    let (few_alone, many_alone) = (taken("one", 1)?, taken("one", points)?);
    let more = f64::from(tenants * (points - 1));
    let mut rows = Vec::new();
    for (name, of) in [("memory", (|taken| taken.memory) as fn(Taken) -> f64), ("disk", |taken| taken.disk)] {
        let row = |id, ours, against| Row::new(format!("vector.edge.{name}_{id}"), ours, against, None, "bytes", 1);
        rows.push(row("of_a_point", (of(many) - of(few)) / more, (of(many_alone) - of(few_alone)) / more));
        rows.push(row("of_a_tenant", of(few) / f64::from(tenants), of(few_alone) / f64::from(tenants)));
    }
    Ok(rows)
}
