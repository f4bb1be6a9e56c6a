//! Of what a tenant has, how much a search finds among many tenants: with the tenant as a condition of the engine's, with
//! everybody's answers filtered afterwards, and with a shard for each tenant.

use std::collections::HashSet;
use std::time::Instant;

use serde::Serialize;
use tenancy_testkit::TestTenants;
use tenancy_vector::{VectorQuery, VectorStore};

use crate::data::{Corpus, Question, external};
use crate::{edge, say, wire};

/// What one way found.
#[derive(Serialize, Default)]
struct Found {
    /// Of the best ten and fifty of the tenant's points, which part was found.
    recall10: f64,
    recall50: f64,
    /// How many of the tenant's points there were of the fifty that were asked for.
    rows50: f64,
    /// Microseconds of a search for fifty, in the middle.
    p50: f64,
    #[serde(skip)]
    times: Vec<f64>,
}

#[derive(Serialize)]
struct Recall {
    asked: usize,
    filter: Found,
    post: Found,
    /// Ten times as many as wanted are asked for and filtered afterwards.
    post_tenfold: Found,
    shard: Found,
}

pub(crate) async fn measure(url: &str, tenants: usize) {
    let names: Vec<String> = (0..tenants).map(|number| format!("tenant-{number}")).collect();
    let collection = format!("recall-{tenants}");
    let realm = names.iter().fold(TestTenants::builder(), |builder, name| builder.tenant(name)).build().await;
    let wire = wire::store(url, &realm, &collection, CORPUS.schema()).await;
    // In memory where the system has such a place: a thousand shards on a disk take ten minutes to make.
    let root = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let edge = edge::store(root.path(), &realm, CORPUS.schema());
    let raw = wire::Raw::connect(url, &collection);
    for (number, name) in names.iter().enumerate() {
        let context = realm.context(name).await;
        let points: Vec<_> = (0..CHUNKS).map(|chunk| CORPUS.point(number, chunk)).collect();
        wire.scoped(&context).unwrap().upsert(points.clone()).await.unwrap();
        edge.scoped(&context).unwrap().upsert(points).await.unwrap();
        if number % 100 == 99 {
            eprintln!("  {} of {tenants} tenants are filled", number + 1);
        }
    }

    let mut recall = Recall {
        asked: 0,
        filter: Found::default(),
        post: Found::default(),
        post_tenfold: Found::default(),
        shard: Found::default(),
    };
    for tenant in (0..tenants).step_by(tenants.div_ceil(SAMPLE)) {
        let context = realm.context(&names[tenant]).await;
        let life = realm.life(&names[tenant]).uuid().hyphenated().to_string();
        for number in 0..QUESTIONS {
            let question = CORPUS.question(tenant * QUESTIONS + number);
            let wanted = exact(tenant, &question);
            recall.asked += 1;
            for (store, found) in [(&wire, &mut recall.filter), (&edge, &mut recall.shard)] {
                let ask = async |limit| ours(store, &context, &question, limit).await;
                found.note(&wanted, ask(10).await, timed(ask(50)).await);
            }
            for (factor, found) in [(1, &mut recall.post), (10, &mut recall.post_tenfold)] {
                let ask = async |limit| filtered_afterwards(&raw, &life, &question, limit, factor).await;
                found.note(&wanted, ask(10).await, timed(ask(50)).await);
            }
        }
    }
    for found in [&mut recall.filter, &mut recall.post, &mut recall.post_tenfold, &mut recall.shard] {
        found.close(recall.asked);
    }
    say(&serde_json::to_string(&recall).unwrap());
}

/// The tenant's chunks by a look at each, the nearest first.
fn exact(tenant: usize, question: &Question) -> Vec<String> {
    let near = |chunk| {
        let vector = CORPUS.vector(tenant, chunk);
        vector.iter().zip(&question.dense).map(|(one, two)| f64::from(*one) * f64::from(*two)).sum::<f64>()
    };
    let mut all: Vec<_> = (0..CHUNKS).map(|chunk| (near(chunk), chunk)).collect();
    all.sort_by(|(one, _), (two, _)| two.total_cmp(one));
    all.into_iter().map(|(_, chunk)| external(chunk).as_str().to_owned()).collect()
}

async fn ours(
    store: &VectorStore,
    context: &tenancy_core::TenantContext,
    question: &Question,
    limit: usize,
) -> Vec<String> {
    let query = VectorQuery::dense(question.dense.clone()).unwrap().limit(limit).unwrap();
    let hits = store.scoped(context).unwrap().query(&query).await.unwrap();
    hits.iter().map(|hit| hit.id().as_str().to_owned()).collect()
}

/// What not to do: everybody's nearest, and the tenant's of them.
async fn filtered_afterwards(
    raw: &wire::Raw,
    life: &str,
    question: &Question,
    limit: usize,
    factor: usize,
) -> Vec<String> {
    let found = raw.dense(None, question, (limit * factor) as u64).await;
    assert_eq!(found.len(), limit * factor, "the server has more than are asked for");
    let own = found.iter().map(wire::tag).filter(|(_, owner)| owner == life);
    own.map(|(id, _)| id).take(limit).collect()
}

async fn timed(asked: impl Future<Output = Vec<String>>) -> (Vec<String>, f64) {
    let start = Instant::now();
    let found = asked.await;
    (found, start.elapsed().as_secs_f64() * 1e6)
}

impl Found {
    fn note(&mut self, wanted: &[String], ten: Vec<String>, (fifty, time): (Vec<String>, f64)) {
        let part = |found: &[String], of: usize| {
            let found: HashSet<_> = found.iter().collect();
            wanted.iter().take(of).filter(|id| found.contains(id)).count() as f64 / of as f64
        };
        self.recall10 += part(&ten, 10);
        self.recall50 += part(&fifty, 50);
        self.rows50 += fifty.len() as f64;
        self.times.push(time);
    }

    /// From sums to what an average question had.
    fn close(&mut self, asked: usize) {
        for sum in [&mut self.recall10, &mut self.recall50, &mut self.rows50] {
            *sum /= asked as f64;
        }
        self.times.sort_by(f64::total_cmp);
        self.p50 = self.times[self.times.len() / 2];
    }
}

/// Twice as many chunks as are asked for at most, on topics that all tenants share.
const CORPUS: Corpus = Corpus { dimension: 64, topics: 10, text: 200 };
const CHUNKS: usize = 100;
const SAMPLE: usize = 25;
const QUESTIONS: usize = 8;
