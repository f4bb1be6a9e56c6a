//! Ours and what it is measured against, on one server. Driven by `cargo xtask bench pg`, which takes turns between this
//! program and the peers; see benches/shared/rounds.rs for the commands. `trips WAY WORK` tells the round-trips of one
//! call, counted on the wire.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that can't go on must stop")]

mod ways;
mod world;

use std::sync::Arc;

use tenancy_testkit::FaultProxy;

use crate::ways::Ways;
use crate::world::World;

include!("../../../benches/shared/work.rs");
include!("../../../benches/shared/rounds.rs");

#[tokio::main]
async fn main() {
    // `cargo test` runs what it has built of this as well, with no argument of ours.
    let Some(file) = std::env::args().skip_while(|argument| argument != "--keys").nth(1) else { return };
    let world = World::new().await;
    let keys: String = world.keys.iter().map(|key| format!("{key}\n")).collect();
    std::fs::write(file, keys).unwrap();
    let ways = Arc::new(Ways::open(&world, &world.plain, &world.signed).await);
    let (plain_proxy, plain) = world.plain.behind_a_proxy().await;
    let (signed_proxy, signed) = world.signed.behind_a_proxy().await;
    let proxied = Ways::open(&world, &plain, &signed).await;
    let trips = || plain_proxy.traffic().round_trips + signed_proxy.traffic().round_trips;
    say(&format!("{{\"url\":\"{}\",\"proxied\":\"{}\"}}", world.plain.url("app"), plain.url("app")));
    let mut commands = commands();
    while let Some(line) = commands.recv().await {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("round"), Some(way), Some(work)) => {
                let (way, work, ways) = (way.to_owned(), Work::parse(work), ways.clone());
                let call = move |tenant, ()| {
                    let (ways, way) = (ways.clone(), way.clone());
                    async move { ways.call(&way, work, tenant).await }
                };
                say(&answer(&Round::parse(&mut words).run(|_| std::future::ready(()), call).await));
            }
            (Some("trips"), Some(way), Some(work)) => {
                // What is prepared once is not what a call costs.
                for _ in 0..WARM {
                    proxied.call(way, Work::parse(work), 0).await;
                }
                let before = settled(&plain_proxy, &signed_proxy).await;
                for _ in 0..WARM {
                    proxied.call(way, Work::parse(work), 0).await;
                }
                let after = settled(&plain_proxy, &signed_proxy).await;
                say(&format!("{{\"trips\":{}}}", (after - before) as f64 / f64::from(WARM)));
            }
            // For the peers, who come through the same proxy.
            (Some("traffic"), ..) => say(&format!("{{\"trips\":{}}}", trips())),
            _ => panic!("not a command: {line}"),
        }
    }
}

/// Round-trips once whatever goes on behind the scenes has come to rest.
async fn settled(plain: &FaultProxy, signed: &FaultProxy) -> u64 {
    let now = || plain.traffic().round_trips + signed.traffic().round_trips;
    let mut last = now();
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        if now() == last {
            return last;
        }
        last = now();
    }
}

const WARM: u32 = 20;
