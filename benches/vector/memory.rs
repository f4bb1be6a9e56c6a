//! What points take: in a shard for each tenant, and in one shard without us. A process of its own for each number.

use std::path::Path;

use tenancy_testkit::TestTenants;
use tenancy_vector::VectorStore;
use tenancy_vector_edge::{EdgeBackend, EdgeOptions};

use crate::data::Corpus;
use crate::{edge, say};

/// Bytes in memory and on disk that so many tenants with so many points each have added.
pub(crate) async fn measure(way: &str, tenants: usize, points: usize) {
    let names: Vec<String> = (0..tenants).map(|number| format!("tenant-{number}")).collect();
    let realm = names.iter().fold(TestTenants::builder(), |builder, name| builder.tenant(name)).build().await;
    let root = tempfile::tempdir().unwrap();
    let before = resident();
    let after = match way {
        "shards" => {
            let backend = EdgeBackend::open(EdgeOptions::new(root.path()).max_open_shards(tenants)).unwrap();
            let store = VectorStore::new(realm.realm(), backend, CORPUS.schema());
            for (number, name) in names.iter().enumerate() {
                let mine = store.scoped(&realm.context(name).await).unwrap();
                for first in (0..points).step_by(BATCH) {
                    let batch = first..points.min(first + BATCH);
                    mine.upsert(batch.map(|chunk| CORPUS.point(number, chunk)).collect()).await.unwrap();
                }
            }
            resident()
        }
        "one" => {
            let shard = edge::make(root.path(), CORPUS.dimension);
            for (number, name) in names.iter().enumerate() {
                let life = realm.life(name).uuid().hyphenated().to_string();
                for first in (0..points).step_by(BATCH) {
                    let batch = first..points.min(first + BATCH);
                    let points = batch.map(|chunk| edge::point(&CORPUS, number, &life, chunk)).collect();
                    edge::store_points(&shard, points);
                    shard.flush();
                }
            }
            resident()
        }
        other => panic!("no such way: {other}"),
    };
    say(&format!("{{\"memory\":{},\"disk\":{}}}", after.saturating_sub(before), disk(root.path())));
}

/// What of this process is in memory, files that it has mapped included. Linux says; elsewhere it is 0.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or_default() * 1024
}

/// What files take, not how long they are: the engine makes them larger than what is in them.
fn disk(directory: &Path) -> u64 {
    let size = |entry: std::fs::DirEntry| {
        let metadata = entry.metadata().unwrap();
        #[cfg(unix)]
        let own = std::os::unix::fs::MetadataExt::blocks(&metadata) * 512;
        #[cfg(not(unix))]
        let own = metadata.len();
        if metadata.is_dir() { own + disk(&entry.path()) } else { own }
    };
    directory.read_dir().unwrap().flatten().map(size).sum()
}

const CORPUS: Corpus = Corpus { dimension: 384, topics: 20, text: 500 };
const BATCH: usize = 100;
