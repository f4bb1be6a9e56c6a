//! How long it takes to give a tenant a place of its own, and to take it back, while it is read and written.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use tenancy_testkit::TestTenants;
use tenancy_vector::qdrant::{CollectionName, QdrantLayout};
use tenancy_vector::tiers::{MemoryTiers, Mover, Tier, TieredBackend};
use tenancy_vector::{TenantVectors, VectorBackend, VectorQuery, VectorStore};
use tenancy_vector_edge::{EdgeBackend, EdgeOptions};

use crate::data::Corpus;
use crate::{Arc, say, wire};

#[derive(Serialize)]
struct Moved {
    /// Points a second: as they were stored, one batch after the other, and as they were copied there and back, without
    /// the time that a mover waits for what it can't see.
    stored: f64,
    there: f64,
    back: f64,
    /// Milliseconds: the longest write of one point, of those before the move and of those during both.
    write_before: f64,
    write_during: f64,
    /// Microseconds of a search for ten, in the middle, before the move and during both.
    read_before: f64,
    read_during: f64,
}

/// From a collection of all tenants to one of its own, and to a shard of the embedded engine.
pub(crate) async fn measure(url: &str, points: usize) {
    let tenants = TestTenants::new().await;
    let name = |name| CollectionName::parse(name).unwrap();
    let shared = async |collection| {
        wire::backend(url, QdrantLayout::Shared { collection: name(collection) }, &CORPUS.schema()).await
    };
    let own = wire::backend(url, QdrantLayout::Collections { prefix: name("own") }, &CORPUS.schema()).await;
    let server = moved(&tenants, shared("tiers").await, own, points).await;
    let root = tempfile::tempdir().unwrap();
    let edge = EdgeBackend::open(EdgeOptions::new(root.path())).unwrap();
    let embedded = moved(&tenants, shared("tiers-edge").await, edge, points).await;
    say(&serde_json::to_string(&[server, embedded]).unwrap());
}

async fn moved(
    tenants: &TestTenants,
    shared: impl VectorBackend,
    dedicated: impl VectorBackend,
    points: usize,
) -> Moved {
    let tiered = TieredBackend::new(shared, dedicated, MemoryTiers::new()).patience(PATIENCE);
    let mover = Mover::new(tenants.realm(), tiered.clone(), CORPUS.schema());
    let store = VectorStore::new(tenants.realm(), tiered, CORPUS.schema());
    // A neighbour who stays where it is.
    let theirs = store.scoped(&tenants.context("globex").await).unwrap();
    theirs.upsert((0..points.min(1_000)).map(|chunk| CORPUS.point(1, chunk)).collect()).await.unwrap();
    let mine = store.scoped(&tenants.context("acme").await).unwrap();
    let start = Instant::now();
    for first in (0..points).step_by(BATCH) {
        let batch = first..points.min(first + BATCH);
        mine.upsert(batch.map(|chunk| CORPUS.point(0, chunk)).collect()).await.unwrap();
    }
    let stored = points as f64 / start.elapsed().as_secs_f64();

    let before = Traffic::start(&mine, points);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (write_before, read_before) = before.stop().await;
    let during = Traffic::start(&mine, points);
    let mut rates = Vec::new();
    for tier in [Tier::Dedicated, Tier::Shared] {
        let mover = mover.scoped(&tenants.context("acme").await).unwrap();
        let (start, mut copied) = (Instant::now(), 0);
        mover.move_to(tier, |count| copied = count).await.unwrap();
        let copying = start.elapsed() - 2 * PATIENCE;
        assert_eq!(mover.placement().await.unwrap().tier(), tier);
        assert!(copied >= points as u64, "all were copied: {copied}");
        rates.push(copied as f64 / copying.as_secs_f64());
    }
    let (write_during, read_during) = during.stop().await;
    assert_eq!(mine.count(None).await.unwrap(), points as u64, "none is lost and none is there twice");
    Moved { stored, there: rates[0], back: rates[1], write_before, write_during, read_before, read_during }
}

/// A writer that writes points anew, one at a time, and a reader.
struct Traffic {
    stop: Arc<AtomicBool>,
    writer: tokio::task::JoinHandle<f64>,
    reader: tokio::task::JoinHandle<f64>,
}

impl Traffic {
    fn start(mine: &TenantVectors, points: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, store) = (Arc::clone(&stop), mine.clone());
        let writer = tokio::spawn(async move {
            let (mut longest, mut chunk) = (0.0, 0);
            while !stopped.load(Ordering::Relaxed) {
                let start = Instant::now();
                store.upsert(vec![CORPUS.point(0, chunk % points)]).await.unwrap();
                longest = f64::max(longest, start.elapsed().as_secs_f64() * 1e3);
                chunk += 97;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            longest
        });
        let (stopped, store) = (Arc::clone(&stop), mine.clone());
        let reader = tokio::spawn(async move {
            let mut times = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let query = VectorQuery::dense(CORPUS.question(times.len()).dense).unwrap().limit(10).unwrap();
                let start = Instant::now();
                assert_eq!(store.query(&query).await.unwrap().len(), 10, "every read sees what is there");
                times.push(start.elapsed().as_secs_f64() * 1e6);
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        Self { stop, writer, reader }
    }

    async fn stop(self) -> (f64, f64) {
        self.stop.store(true, Ordering::Relaxed);
        (self.writer.await.unwrap(), self.reader.await.unwrap())
    }
}

const CORPUS: Corpus = Corpus { dimension: 384, topics: 20, text: 500 };
const BATCH: usize = 500;
/// Much less than one would set: what is measured is the copy.
const PATIENCE: Duration = Duration::from_secs(5);
