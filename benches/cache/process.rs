//! A value that is in this process: ours, and a plain concurrent map of the same library.

use std::hint::black_box;

use moka::future::Cache;
use tenancy_cache::{Caches, Lookup, MemoryBackend, ResponseParts};
use tenancy_core::TenantContext;
use tenancy_testkit::TestTenants;

use crate::parts::{by_hand, parts, text};
use crate::{Arc, Round, answer, commands, say};

struct Process {
    caches: Caches,
    context: TenantContext,
    plain: Cache<String, String>,
    name: String,
    parts: ResponseParts,
}

/// `round WAY get ..`, as in benches/shared/rounds.rs. A call looks a thousand times, so its microseconds are a look's
/// nanoseconds.
pub(crate) async fn measure() {
    let tenants = TestTenants::new().await;
    let caches = Caches::new(tenants.realm(), MemoryBackend::new());
    let layer = caches.scoped(&tenants.context("acme").await).unwrap().response::<String>();
    let Lookup::Miss(slot) = layer.lookup(&parts()).await.unwrap() else { panic!("a cold cache") };
    slot.put(&text(VALUE)).await.unwrap();
    let (plain, name) = (Cache::new(1_000), by_hand("acme", &parts()));
    plain.insert(name.clone(), text(VALUE)).await;
    say("{}");
    let mut commands = commands();
    while let Some(line) = commands.recv().await {
        let mut words = line.split_whitespace();
        let (Some("round"), Some(way), Some("get")) = (words.next(), words.next(), words.next()) else {
            panic!("not a command: {line}");
        };
        let round = Round::parse(&mut words);
        let process = Arc::new(Process {
            caches: caches.clone(),
            // A context lives no longer than a request.
            context: tenants.context("acme").await,
            plain: plain.clone(),
            name: name.clone(),
            parts: parts(),
        });
        let way = way.to_owned();
        let call = move |_, ()| {
            let (process, way) = (process.clone(), way.clone());
            async move { process.thousand(&way).await }
        };
        say(&answer(&round.run(|_| async {}, call).await));
    }
}

impl Process {
    async fn thousand(&self, way: &str) {
        for _ in 0..1_000 {
            let found = match way {
                "ours" => {
                    let mine = self.caches.scoped(black_box(&self.context)).unwrap().response::<String>();
                    match mine.lookup(&self.parts).await.unwrap() {
                        Lookup::Hit(value) => value,
                        other => panic!("{other:?}"),
                    }
                }
                "moka" => self.plain.get(black_box(&self.name)).await.unwrap(),
                other => panic!("no such way: {other}"),
            };
            assert_eq!(black_box(found).len(), VALUE * 6);
        }
    }
}

/// Words of a value: two kibibytes.
const VALUE: usize = 341;
