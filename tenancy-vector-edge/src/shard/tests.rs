//! A shard asked and told everything, with the points of another life in it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use qdrant_edge::{Condition as EngineCondition, FieldCondition, Filter as EngineFilter, Match, ValueVariants};
use serde_json::{Map, Value, json};
use tenancy_core::{Life, StoreVerdict};
use tenancy_testkit::TestTenants;
use tenancy_vector::{
    BackendError, Change, CountRequest, DenseVector, Distance, DropScope, Example, Expression, ExternalId,
    FacetRequest, Filter, FilterValue, Fusion, IndexKind, Order, PayloadKey, Point, PointKey, QueryRequest, Recommend,
    Schema, ScoredPayload, Scroll, ScrollRequest, Select, SparseVector, StoredPayload, TenantVectors, Vector,
    VectorBackend, VectorKind, VectorName, VectorQuery, VectorScope, VectorStore, WriteRequest, WriteScope,
};

use super::Shard;
use crate::files::ShardFiles;
use crate::lower;

/// Whatever a back end is asked.
enum Asked {
    Write(WriteRequest),
    Query(Vec<QueryRequest>),
    Facet(FacetRequest),
    Scroll(ScrollRequest),
    Retrieve(Vec<PointKey>),
    Count(CountRequest),
}

/// Keeps what it is asked and has nothing.
#[derive(Clone, Default)]
struct Notebook(Arc<Mutex<Vec<Asked>>>);

impl Notebook {
    fn note(&self, asked: Asked) {
        self.0.lock().unwrap().push(asked);
    }

    fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

#[async_trait]
impl VectorBackend for Notebook {
    async fn prepare(&self, _: &Schema) -> Result<(), BackendError> {
        Ok(())
    }

    async fn write(&self, _: &WriteScope<'_>, request: WriteRequest) -> Result<(), BackendError> {
        self.note(Asked::Write(request));
        Ok(())
    }

    async fn query(
        &self,
        _: &VectorScope<'_>,
        requests: &[QueryRequest],
    ) -> Result<Vec<Vec<ScoredPayload>>, BackendError> {
        let nothing = requests.iter().map(|_| Vec::new()).collect();
        self.note(Asked::Query(requests.to_vec()));
        Ok(nothing)
    }

    async fn facet(&self, _: &VectorScope<'_>, request: FacetRequest) -> Result<Vec<(FilterValue, u64)>, BackendError> {
        self.note(Asked::Facet(request));
        Ok(Vec::new())
    }

    async fn scroll(&self, _: &VectorScope<'_>, request: ScrollRequest) -> Result<Vec<StoredPayload>, BackendError> {
        self.note(Asked::Scroll(request));
        Ok(Vec::new())
    }

    async fn retrieve(
        &self,
        _: &VectorScope<'_>,
        keys: Vec<PointKey>,
        _: bool,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        self.note(Asked::Retrieve(keys));
        Ok(Vec::new())
    }

    async fn count(&self, _: &VectorScope<'_>, request: CountRequest) -> Result<u64, BackendError> {
        self.note(Asked::Count(request));
        Ok(0)
    }

    async fn drop_partition(&self, _: &DropScope<'_>) -> Result<(), BackendError> {
        Ok(())
    }

    async fn verify_dropped(&self, _: &DropScope<'_>) -> Result<StoreVerdict, BackendError> {
        Ok(StoreVerdict::Verified)
    }
}

fn key(path: &str) -> PayloadKey {
    PayloadKey::parse(path).unwrap()
}

fn id(text: &str) -> ExternalId {
    ExternalId::parse(text).unwrap()
}

fn dense(values: [f32; 2]) -> Vector {
    DenseVector::new(values.to_vec()).unwrap().into()
}

fn terms() -> SparseVector {
    SparseVector::new(vec![7], vec![1.0]).unwrap()
}

fn schema() -> Schema {
    let of = VectorKind::Dense { dimension: 2, distance: Distance::Dot };
    let schema = Schema::new().with(VectorName::dense(), of).unwrap();
    let schema = schema.with(VectorName::sparse(), VectorKind::Sparse).unwrap();
    schema.index(key("n"), IndexKind::Integer)
}

fn point(name: &str, n: i64) -> Point {
    let payload = object(json!({"n": n, "list": [{"x": 1}]}));
    let point = Point::new(id(name), payload).unwrap();
    point.with(VectorName::dense(), dense([1.0, 0.5])).with(VectorName::sparse(), terms())
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Every kind of search, those over arms with arms of every kind.
fn queries() -> Vec<VectorQuery> {
    let like = || Example::from(dense([1.0, 0.0]));
    let unlike = || Example::from(dense([0.0, 1.0]));
    let nearest = || VectorQuery::nearest(VectorName::dense(), dense([1.0, 0.0]));
    let leaves = || {
        vec![
            nearest(),
            VectorQuery::sparse(terms()).unwrap(),
            VectorQuery::mmr(VectorName::dense(), dense([1.0, 0.0]), 0.5).unwrap(),
            VectorQuery::recommend(VectorName::dense(), Recommend::Best, [like()], [unlike()]).unwrap(),
            VectorQuery::recommend(VectorName::dense(), Recommend::Sum, [like()], [unlike()]).unwrap(),
            VectorQuery::discover(VectorName::dense(), like(), [(like(), unlike())]),
            VectorQuery::context(VectorName::dense(), [(like(), unlike())]).unwrap(),
            VectorQuery::ordered(Order::ascending(key("n"))),
            VectorQuery::sample(),
        ]
    };
    let wide = Filter::Any(vec![Filter::IsEmpty(key("n")), Filter::Not(Box::new(Filter::IsEmpty(key("n"))))]);
    let score = Expression::Sum(vec![Expression::Score(0), Expression::When(Box::new(wide.clone()))]);
    let mut all = leaves();
    all.push(VectorQuery::fuse(Fusion::ranks(), leaves()));
    all.push(VectorQuery::fuse(Fusion::Scores, [VectorQuery::fuse(Fusion::ranks(), leaves()), nearest()]));
    all.push(VectorQuery::rescore(score, [nearest(), VectorQuery::fuse(Fusion::ranks(), leaves())]));
    all.push(VectorQuery::refine(VectorName::sparse(), terms(), leaves()));
    let filtered: Vec<_> = all.iter().map(|query| query.clone().filter(wide.clone()).unwrap()).collect();
    all.into_iter().chain(filtered).collect()
}

async fn ask_everything(mine: &TenantVectors) {
    let wide = Filter::Not(Box::new(Filter::IsEmpty(key("n"))));
    for query in queries() {
        assert!(mine.query(&query.with_vectors()).await.unwrap().is_empty());
    }
    for filter in [None, Some(&wide)] {
        assert_eq!(mine.count(filter).await.unwrap(), 0);
        assert!(mine.facet(&key("n"), filter, 10).await.unwrap().is_empty());
    }
    for scroll in [Scroll::new(), Scroll::new().filter(wide).order(Order::descending(key("n")))] {
        assert!(mine.scroll(&scroll, None).await.unwrap().points().is_empty());
    }
    let _missing = mine.get(&[id("a"), id("b")]).await.unwrap();
}

async fn change_everything(mine: &TenantVectors) {
    let wide = || Select::Matching(Filter::Not(Box::new(Filter::IsEmpty(key("n")))));
    let ids = || Select::Ids(vec![id("a"), id("b")]);
    let spoiled = || object(json!({"n": 666}));
    for select in [ids(), wide(), Select::All] {
        mine.change(vec![Change::SetPayload(select.clone(), spoiled(), None)]).await.unwrap();
        mine.change(vec![Change::SetPayload(select.clone(), spoiled(), Some(key("o")))]).await.unwrap();
        mine.change(vec![Change::DeletePayload(select.clone(), vec![key("list")])]).await.unwrap();
        mine.change(vec![Change::DeleteVectors(select.clone(), vec![VectorName::sparse()])]).await.unwrap();
        mine.change(vec![Change::Delete(select)]).await.unwrap();
    }
    mine.change(vec![Change::OverwritePayload(vec![(id("a"), spoiled())])]).await.unwrap();
    let vectors = vec![(VectorName::dense(), dense([9.0, 9.0]).into())];
    mine.change(vec![Change::SetVectors(vec![(id("a"), vectors)])]).await.unwrap();
    mine.change(vec![Change::Update(vec![point("a", 666)], None)]).await.unwrap();
}

/// Does to a shard what a back end was asked; how much came back.
fn replay(shard: &Shard, life: Life, asked: Vec<Asked>) -> usize {
    let answers = asked.into_iter().map(|asked| match asked {
        Asked::Write(request) => shard.write(life, request).map(|()| 0),
        Asked::Query(requests) => {
            requests.iter().map(|request| shard.query(life, request).map(|found| found.len())).sum()
        }
        Asked::Facet(request) => shard.facet(life, &request).map(|values| values.len()),
        Asked::Scroll(request) => shard.page(life, &request).map(|page| page.len()),
        Asked::Retrieve(keys) => shard.retrieve(life, &keys, true).map(|found| found.len()),
        Asked::Count(request) => shard.count(life, &request).map(|count| usize::try_from(count).unwrap()),
    });
    answers.sum::<Result<_, _>>().unwrap()
}

/// Two tenants' handles on a notebook, and a shard that has the points of the second.
struct Stage {
    tenants: TestTenants,
    notebook: Notebook,
    shard: Shard,
    _root: tempfile::TempDir,
}

impl Stage {
    async fn new() -> Self {
        let (tenants, notebook, root) = (TestTenants::new().await, Notebook::default(), tempfile::tempdir().unwrap());
        let shard = Shard::make(&ShardFiles::new(root.path(), "p"), schema()).unwrap();
        let stage = Self { tenants, notebook, shard, _root: root };
        stage.of("globex").await.upsert(vec![point("a", 1), point("b", 2), point("c", 3)]).await.unwrap();
        stage.play("globex");
        stage
    }

    async fn of(&self, tenant: &str) -> TenantVectors {
        let store = VectorStore::new(self.tenants.realm(), self.notebook.clone(), schema());
        store.scoped(&self.tenants.context(tenant).await).unwrap()
    }

    /// What the handles were asked since, done as one tenant.
    fn play(&self, tenant: &str) -> usize {
        replay(&self.shard, self.tenants.life(tenant), self.notebook.take())
    }

    /// Everything about the second tenant's points.
    async fn theirs(&self) -> String {
        let _asked = self.of("globex").await.scroll(&Scroll::new().with_vectors(), None).await.unwrap();
        let Some(Asked::Scroll(request)) = self.notebook.take().pop() else { panic!("a scroll was asked for") };
        let page = self.shard.page(self.tenants.life("globex"), &request).unwrap();
        let points = page.into_iter().map(|stored| {
            let (payload, vectors) = stored.into_parts();
            let vectors = vectors.iter().map(|(name, vector)| match vector {
                Vector::Dense(dense) => format!("{name:?} {:?}", dense.values()),
                Vector::Sparse(sparse) => format!("{name:?} {:?}", sparse.values()),
                Vector::Multi(multi) => format!("{name:?} {:?}", multi.rows()),
            });
            (Value::Object(payload).to_string(), vectors.collect::<Vec<_>>())
        });
        format!("{:?}", points.collect::<Vec<_>>())
    }
}

#[tokio::test]
async fn points_of_another_life_are_not_found_by_any_read() {
    let stage = Stage::new().await;
    ask_everything(&stage.of("globex").await).await;
    assert!(stage.play("globex") > 50, "their own life finds them");
    ask_everything(&stage.of("acme").await).await;
    assert_eq!(stage.play("acme"), 0);
}

#[tokio::test]
async fn points_of_another_life_are_not_changed_by_any_write() {
    let stage = Stage::new().await;
    let before = stage.theirs().await;
    change_everything(&stage.of("acme").await).await;
    stage.play("acme");
    assert_eq!(stage.theirs().await, before);
    change_everything(&stage.of("globex").await).await;
    stage.play("globex");
    assert_ne!(stage.theirs().await, before, "their own life changes them");
}

/// The keys of one life, asked for in the name of another: what the keys alone would let through.
#[tokio::test]
async fn keys_of_another_life_reach_nothing() {
    let stage = Stage::new().await;
    let before = stage.theirs().await;
    ask_everything(&stage.of("globex").await).await;
    change_everything(&stage.of("globex").await).await;
    let asked = stage.notebook.take().into_iter().filter(|asked| match asked {
        // It names points that are there, of another life: a collision, which is another test's.
        Asked::Write(request) => !format!("{request:?}").contains("Upsert"),
        Asked::Query(_) | Asked::Facet(_) | Asked::Scroll(_) | Asked::Retrieve(_) | Asked::Count(_) => true,
    });
    assert_eq!(replay(&stage.shard, stage.tenants.life("acme"), asked.collect()), 0);
    assert_eq!(stage.theirs().await, before);
}

#[tokio::test]
async fn every_request_to_the_engine_has_the_life_in_must() {
    let stage = Stage::new().await;
    let _setting_up = stage.shard.engine.asked();
    let of_life = |tenant| {
        let value = ValueVariants::String(tenancy_vector::reserved::life(stage.tenants.life(tenant)));
        let path = lower::path(tenancy_vector::reserved::LIFE_PATH).unwrap();
        EngineCondition::Field(FieldCondition::new_match(path, Match::new_value(value)))
    };
    for (tenant, changes) in [("acme", false), ("globex", false), ("globex", true)] {
        let mine = stage.of(tenant).await;
        if changes {
            change_everything(&mine).await;
        } else {
            ask_everything(&mine).await;
        }
        stage.play(tenant);
        let asked = stage.shard.engine.asked();
        assert!(asked.len() > if changes { 15 } else { 50 }, "{}", asked.len());
        for filter in asked {
            let EngineFilter { should, min_should, must, must_not } = filter.expect("no request without a filter");
            let must = must.unwrap();
            assert_eq!(must.first(), Some(&of_life(tenant)));
            assert!(must.len() <= 5, "a caller's condition is one, however many are in it");
            assert!(should.is_none() && min_should.is_none() && must_not.is_none(), "nothing beside it to merge with");
        }
    }
}

/// After its segments were merged the engine moves a point that is written again, and takes its old vectors along.
#[tokio::test]
async fn a_point_written_again_keeps_no_vector_it_does_not_bring() {
    let stage = Stage::new().await;
    let theirs = stage.of("globex").await;
    let sparse = VectorQuery::sparse(terms()).unwrap();
    for optimized in [false, true] {
        theirs.upsert((0..40).map(|n| point(&format!("p{n}"), n)).collect()).await.unwrap();
        stage.play("globex");
        if optimized {
            stage.shard.engine.optimize();
        }
        let bare = Point::new(id("p7"), Map::new()).unwrap().with(VectorName::dense(), dense([1.0, 0.0]));
        theirs.upsert(vec![bare]).await.unwrap();
        stage.play("globex");
        let _asked = theirs.query(&sparse.clone().limit(100).unwrap()).await.unwrap();
        assert_eq!(stage.play("globex"), 42, "all but the one without terms; optimized: {optimized}");
        let _asked = theirs.count(Some(&Filter::HasVector(VectorName::sparse()))).await.unwrap();
        assert_eq!(stage.play("globex"), 42, "optimized: {optimized}");
    }
}

#[tokio::test]
async fn a_filter_goes_for_the_arms_too() {
    let stage = Stage::new().await;
    let theirs = stage.of("globex").await;
    let nearest = || VectorQuery::nearest(VectorName::dense(), dense([1.0, 0.0]));
    let first = Filter::Equals(key("n"), 1.into());
    for query in [
        VectorQuery::fuse(Fusion::ranks(), [nearest(), nearest()]),
        VectorQuery::rescore(Expression::Score(0), [VectorQuery::fuse(Fusion::Scores, [nearest()])]),
    ] {
        let _asked = theirs.query(&query.clone().filter(first.clone()).unwrap()).await.unwrap();
        assert_eq!(stage.play("globex"), 1);
        let _asked = theirs.query(&query).await.unwrap();
        assert_eq!(stage.play("globex"), 3);
    }
}

/// The engine leaves the terms of a deleted point, and of a deleted vector, in its counts.
#[tokio::test]
async fn terms_of_what_was_deleted_are_not_counted() {
    let stage = Stage::new().await;
    let theirs = stage.of("globex").await;
    let scores = async || {
        let _asked = theirs.query(&VectorQuery::sparse(terms()).unwrap()).await.unwrap();
        let Some(Asked::Query(requests)) = stage.notebook.take().pop() else { panic!("a query was asked for") };
        let found = stage.shard.query(stage.tenants.life("globex"), &requests[0]).unwrap();
        found.into_iter().map(|hit| hit.into_parts().0.to_bits()).collect::<Vec<_>>()
    };
    let before = scores().await;
    let many = || (0..40).map(|n| point(&format!("p{n}"), n + 10)).collect::<Vec<_>>();
    let ids: Vec<_> = (0..40).map(|n| id(&format!("p{n}"))).collect();
    let theirs_alone = Filter::Within(key("n"), tenancy_vector::Range::new(10.0..).unwrap());
    for gone in [
        Change::Delete(Select::Ids(ids.clone())),
        Change::Delete(Select::Matching(theirs_alone.clone())),
        Change::Delete(Select::Matching(Filter::All(vec![theirs_alone, Filter::HasVector(VectorName::sparse())]))),
        Change::DeleteVectors(Select::Ids(ids.clone()), vec![VectorName::sparse()]),
    ] {
        theirs.upsert(many()).await.unwrap();
        stage.play("globex");
        assert_ne!(scores().await, before);
        theirs.change(vec![gone.clone()]).await.unwrap();
        stage.play("globex");
        assert_eq!(scores().await, before, "{gone:?}");
    }
}
