//! What a search costs: ours over the request that one would write by hand.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;
use tenancy_core::TenantContext;
use tenancy_testkit::TestTenants;
use tenancy_vector::{SparseVector, VectorQuery, VectorStore};

use crate::data::{Corpus, Question};
use crate::{Arc, Round, answer, commands, edge, say, wire};

struct Queries {
    tenants: TestTenants,
    lives: Vec<String>,
    questions: Vec<Question>,
    asked: AtomicUsize,
    wire: VectorStore,
    raw_wire: wire::Raw,
    edge: VectorStore,
    raw_edge: edge::Raw,
    /// A context of each tenant, made anew for every round: one lives no longer than a request.
    used: Mutex<Vec<TenantContext>>,
    _root: TempDir,
}

/// `round WAY WORK ..`, as in benches/shared/rounds.rs.
pub(crate) async fn measure(url: &str) {
    let queries = Arc::new(Queries::fill(url).await);
    queries.ensure_all_find_the_same().await;
    say("{}");
    let mut commands = commands();
    while let Some(line) = commands.recv().await {
        let mut words = line.split_whitespace();
        let (Some("round"), Some(way), Some(work)) = (words.next(), words.next(), words.next()) else {
            panic!("not a command: {line}");
        };
        let round = Round::parse(&mut words);
        queries.prepare().await;
        let (way, work, queries) = (way.to_owned(), work.to_owned(), queries.clone());
        let ours = queries.clone();
        // In all ways a request was let in just before, as one is in a service.
        let before = move |tenant| {
            let queries = ours.clone();
            async move { queries.context(tenant).await }
        };
        let call = move |tenant, context| {
            let (queries, way, work) = (queries.clone(), way.clone(), work.clone());
            async move { queries.call(&way, &work, tenant, context).await }
        };
        say(&answer(&round.run(before, call).await));
    }
}

impl Queries {
    async fn fill(url: &str) -> Self {
        let names: Vec<String> = (0..TENANTS).map(|number| format!("tenant-{number}")).collect();
        let tenants = names.iter().fold(TestTenants::builder(), |builder, name| builder.tenant(name)).build().await;
        let wire = wire::store(url, &tenants, COLLECTION, CORPUS.schema()).await;
        let root = tempfile::tempdir().unwrap();
        let edge = edge::store(root.path(), &tenants, CORPUS.schema());
        for (number, name) in names.iter().enumerate() {
            let points: Vec<_> = (0..CHUNKS).map(|chunk| CORPUS.point(number, chunk)).collect();
            for store in [&wire, &edge] {
                let mine = store.scoped(&tenants.context(name).await).unwrap();
                mine.upsert(points.clone()).await.unwrap();
            }
        }
        drop(edge);
        let raw_edge = edge::Raw::on_a_copy_of(root.path());
        Self {
            lives: names.iter().map(|name| tenants.life(name).uuid().hyphenated().to_string()).collect(),
            questions: (0..QUESTIONS).map(|number| CORPUS.question(number)).collect(),
            asked: AtomicUsize::new(0),
            wire,
            raw_wire: wire::Raw::connect(url, COLLECTION),
            edge: edge::store(root.path(), &tenants, CORPUS.schema()),
            raw_edge,
            used: Mutex::default(),
            tenants,
            _root: root,
        }
    }

    async fn context(&self, tenant: usize) -> TenantContext {
        self.tenants.context(&format!("tenant-{tenant}")).await
    }

    async fn prepare(&self) {
        let mut used = Vec::new();
        for tenant in 0..TENANTS {
            used.push(self.context(tenant).await);
        }
        *self.used.lock().unwrap() = used;
    }

    /// One call of one tenant, with a context that nobody has used yet; it must find what there is.
    async fn call(&self, way: &str, work: &str, tenant: usize, fresh: TenantContext) {
        let question = &self.questions[self.asked.fetch_add(1, Ordering::Relaxed) % QUESTIONS];
        let life = &self.lives[tenant];
        let hits = match (way, work) {
            ("raw", "dense") => self.raw_wire.dense(Some(life), question, LIMIT).await.len(),
            ("raw", "hybrid") => self.raw_wire.hybrid(life, question, LIMIT).await.len(),
            ("edge_raw", "dense") => self.raw_edge.dense(life, question, LIMIT as usize).await.len(),
            ("edge_raw", "hybrid") => self.raw_edge.hybrid(life, question, LIMIT as usize).await.len(),
            _ => {
                let store = if way.starts_with("edge") { &self.edge } else { &self.wire };
                let first = way.ends_with("_first");
                let context = if first { fresh } else { self.used.lock().unwrap()[tenant].clone() };
                store.scoped(&context).unwrap().query(&query(work, question)).await.unwrap().len()
            }
        };
        assert_eq!(hits, LIMIT as usize, "{way} {work}");
    }

    /// What is faster because it finds something else is no faster.
    async fn ensure_all_find_the_same(&self) {
        for (tenant, life) in self.lives.iter().enumerate() {
            let context = self.context(tenant).await;
            for (number, question) in self.questions.iter().enumerate().skip(tenant).step_by(7) {
                let raw = |points: Vec<qdrant_client::qdrant::ScoredPoint>| {
                    points.iter().map(|point| (wire::tag(point).0, point.score)).collect::<Vec<_>>()
                };
                for work in ["dense", "hybrid"] {
                    let query = query(work, question);
                    let (wire_raw, edge_raw) = match work {
                        "dense" => (
                            raw(self.raw_wire.dense(Some(life), question, LIMIT).await),
                            edge::found(&self.raw_edge.dense(life, question, LIMIT as usize).await),
                        ),
                        _ => (
                            raw(self.raw_wire.hybrid(life, question, LIMIT).await),
                            edge::found(&self.raw_edge.hybrid(life, question, LIMIT as usize).await),
                        ),
                    };
                    let ours = self.wire.scoped(&context).unwrap().query(&query).await.unwrap();
                    wire::ensure_same(&format!("server, {work}, {number}"), &ours, &wire_raw);
                    let ours = self.edge.scoped(&context).unwrap().query(&query).await.unwrap();
                    wire::ensure_same(&format!("embedded, {work}, {number}"), &ours, &edge_raw);
                }
            }
        }
    }
}

fn query(work: &str, question: &Question) -> VectorQuery {
    let (indices, values) = question.terms.clone();
    let query = match work {
        "dense" => VectorQuery::dense(question.dense.clone()).unwrap(),
        "hybrid" => VectorQuery::hybrid(question.dense.clone(), SparseVector::new(indices, values).unwrap()).unwrap(),
        other => panic!("no such work: {other}"),
    };
    query.limit(LIMIT as usize).unwrap()
}

/// The dimension of a small model, passages of some eighty words, a thousand for each of ten tenants.
const CORPUS: Corpus = Corpus { dimension: 384, topics: 20, text: 500 };
const TENANTS: usize = 10;
const CHUNKS: usize = 1_000;
const QUESTIONS: usize = 50;
const LIMIT: u64 = 10;
const COLLECTION: &str = "queries";
