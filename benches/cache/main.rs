//! What the caches cost, and what they are measured against. Driven by `cargo xtask bench cache`, which runs this program
//! once for each of its parts: the first argument says which. They take the commands of benches/shared/rounds.rs.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that can't go on must stop")]

mod deletions;
mod keys;
mod parts;
mod process;
mod redis_calls;
mod server;
mod turns;

use std::sync::Arc;

include!("../shared/rounds.rs");

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["keys"] => keys::measure().await,
        ["process"] => process::measure().await,
        ["redis"] => redis_calls::measure().await,
        ["deletions", "redis", entries] => deletions::on_redis(entries.parse().unwrap()).await,
        ["deletions", "memory", entries] => deletions::in_memory(entries.parse().unwrap()).await,
        _ => panic!("no such part: {arguments:?}"),
    }
}
