//! How fast points go in: ours, and the same batches without us.

use std::time::Instant;

use qdrant_client::qdrant as pb;
use qdrant_edge::external::uuid::Uuid;
use qdrant_edge::{EdgeShard, PointStructPersisted};
use tenancy_testkit::TestTenants;
use tenancy_vector::Point;

use crate::data::Corpus;
use crate::{commands, edge, say, wire};

/// `ingest WAY BATCH POINTS`: a collection, or a shard, of its own each time.
pub(crate) async fn measure(url: &str) {
    let tenants = TestTenants::new().await;
    say("{}");
    let (mut commands, mut number) = (commands(), 0);
    while let Some(line) = commands.recv().await {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["ingest", way, batch, points] = words[..] else { panic!("not a command: {line}") };
        let (batch, points): (usize, usize) = (batch.parse().unwrap(), points.parse().unwrap());
        number += 1;
        let seconds = match way {
            "server" => server(url, &tenants, &format!("ingest-{number}"), batch, points).await,
            "server_raw" => server_raw(url, &tenants, &format!("ingest-{number}"), batch, points).await,
            "embedded" => embedded(&tenants, batch, points).await,
            "embedded_raw" => embedded_raw(batch, points, batch),
            "embedded_raw_singly" => embedded_raw(batch, points, 1),
            other => panic!("no such way: {other}"),
        };
        say(&format!("{{\"rate\":{}}}", points as f64 / seconds));
    }
}

async fn server(url: &str, tenants: &TestTenants, collection: &str, batch: usize, points: usize) -> f64 {
    let mine = wire::store(url, tenants, collection, CORPUS.schema()).await;
    let mine = mine.scoped(&tenants.context("acme").await).unwrap();
    let batches = batches(batch, points, |chunk| CORPUS.point(0, chunk));
    let start = Instant::now();
    for batch in batches {
        mine.upsert(batch).await.unwrap();
    }
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(mine.count(None).await.unwrap(), points as u64);
    wire::Raw::connect(url, collection).client.delete_collection(collection).await.unwrap();
    seconds
}

/// Into the collection that ours makes, with its indexes, by the client's own method.
async fn server_raw(url: &str, tenants: &TestTenants, collection: &str, batch: usize, points: usize) -> f64 {
    let _made = wire::store(url, tenants, collection, CORPUS.schema()).await;
    let raw = wire::Raw::connect(url, collection);
    let life = tenants.life("acme").uuid().hyphenated().to_string();
    let batches = batches(batch, points, |chunk| wire::point(&CORPUS, &life, chunk));
    let start = Instant::now();
    for batch in batches {
        let request = pb::UpsertPointsBuilder::new(collection, batch).wait(true);
        raw.client.upsert_points(request).await.unwrap();
    }
    let seconds = start.elapsed().as_secs_f64();
    let count = raw.client.count(pb::CountPointsBuilder::new(collection).exact(true)).await.unwrap();
    assert_eq!(count.result.unwrap().count, points as u64);
    raw.client.delete_collection(collection).await.unwrap();
    seconds
}

async fn embedded(tenants: &TestTenants, batch: usize, points: usize) -> f64 {
    let root = tempfile::tempdir().unwrap();
    let store = edge::store(root.path(), tenants, CORPUS.schema());
    let mine = store.scoped(&tenants.context("acme").await).unwrap();
    // Making the shard is not storing points.
    mine.upsert(vec![CORPUS.point(0, points)]).await.unwrap();
    let batches: Vec<Vec<Point>> = batches(batch, points, |chunk| CORPUS.point(0, chunk));
    let start = Instant::now();
    for batch in batches {
        mine.upsert(batch).await.unwrap();
    }
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(mine.count(None).await.unwrap(), points as u64 + 1);
    seconds
}

/// The engine alone, each batch flushed as ours are: what is acknowledged is on disk. It takes a batch as a whole, or one
/// point after the other, as ours does.
fn embedded_raw(batch: usize, points: usize, at_once: usize) -> f64 {
    let root = tempfile::tempdir().unwrap();
    let shard: EdgeShard = edge::make(root.path(), CORPUS.dimension);
    let life = Uuid::from_u128(1).to_string();
    let batches: Vec<Vec<PointStructPersisted>> = batches(batch, points, |chunk| edge::point(&CORPUS, 0, &life, chunk));
    let start = Instant::now();
    for batch in batches {
        for some in batch.chunks(at_once) {
            edge::store_points(&shard, some.to_vec());
        }
        shard.flush();
    }
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(shard.info().points_count, points);
    seconds
}

fn batches<T>(batch: usize, points: usize, make: impl Fn(usize) -> T) -> Vec<Vec<T>> {
    let firsts = (0..points).step_by(batch);
    firsts.map(|first| (first..points.min(first + batch)).map(&make).collect()).collect()
}

const CORPUS: Corpus = Corpus { dimension: 384, topics: 20, text: 500 };
