//! Ours and what it is measured against. Driven by `cargo xtask bench vector`, which runs this program once for each of
//! its parts: the first argument says which. A part that is driven in rounds takes the commands of
//! benches/shared/rounds.rs; the others answer with one line of JSON and end.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that can't go on must stop")]

#[path = "../../tenancy-vector/tests/cases/corpora.rs"]
mod corpora;
mod data;
mod edge;
mod ingest;
mod memory;
mod pivots;
mod promotion;
mod queries;
mod recall;
mod server;
mod wire;

use std::sync::Arc;

include!("../shared/rounds.rs");

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["server"] => server::serve().await,
        ["queries", url] => queries::measure(url).await,
        ["recall", url, tenants] => recall::measure(url, tenants.parse().unwrap()).await,
        ["pivots", url] => pivots::measure(url).await,
        ["ingest", url] => ingest::measure(url).await,
        ["promotion", url, points] => promotion::measure(url, points.parse().unwrap()).await,
        ["memory", _, way, tenants, points] => {
            memory::measure(way, tenants.parse().unwrap(), points.parse().unwrap()).await;
        }
        // `cargo test --benches` runs this as well, with no argument of ours.
        _ => {}
    }
}
