//! V9: a life that is moved from a collection of all to a place of its own, on servers that don't do as they should.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::collections_client::CollectionsClient;
use qdrant_client::qdrant::points_client::PointsClient;
use tenancy_core::{Credential, Denial, Life, Reach, StoreVerdict, TenantId};
use tenancy_testkit::TestTenants;
use tenancy_testkit::qdrant::WireFault;
use tenancy_vector::tiers::{MemoryTiers, Mover, TenantMover, Tier, TieredBackend};
use tenancy_vector::{Scroll, TenantVectors, VectorError, VectorStore};
use tonic::Code;

use crate::{Layout, Wire, cases, recorded, tenants};

/// Two servers: the collection of all on one, and places of one's own on the other. Acme has [`POINTS`], globex two.
pub(crate) struct House {
    pub(crate) source: Wire,
    pub(crate) target: Wire,
    pub(crate) tenants: TestTenants,
    pub(crate) life: Life,
    pub(crate) tiers: MemoryTiers,
    pub(crate) store: VectorStore,
    pub(crate) mover: TenantMover,
    pub(crate) mine: TenantVectors,
    pub(crate) theirs: TenantVectors,
}

impl House {
    pub(crate) async fn new(layout: Layout) -> Self {
        let (source, target, tenants) = (Wire::start(Layout::Shared).await, Wire::start(layout).await, tenants().await);
        let options = |wire: &Wire| wire.options().retries(0).breaker(1000, Duration::ZERO);
        let shared = Arc::new(source.connect(options(&source), &cases::schema()).await);
        // Whoever fills it is given more time than a write to a life that may move.
        let filled = VectorStore::new(tenants.realm(), Arc::clone(&shared), cases::schema());
        let mine = cases::of(&tenants, &filled, "acme").await;
        mine.upsert((0..POINTS).map(|n| cases::point(&format!("A{n}"), 0.5, "acme")).collect()).await.unwrap();
        let dedicated = target.connect(options(&target), &cases::schema()).await;
        let tiers = MemoryTiers::new();
        let tiered = TieredBackend::new(shared, dedicated, tiers.clone()).patience(PATIENCE);
        let mover = Mover::new(tenants.realm(), tiered.clone(), cases::schema());
        let store = VectorStore::new(tenants.realm(), tiered, cases::schema());
        let (mine, theirs) = (cases::of(&tenants, &store, "acme").await, cases::of(&tenants, &store, "globex").await);
        theirs.upsert(vec![cases::point("A1", 1.0, "globex"), cases::point("B1", 1.0, "globex")]).await.unwrap();
        let mover = mover.scoped(&tenants.context("acme").await).unwrap();
        let life = tenants.life("acme");
        Self { source, target, tenants, life, tiers, store, mover, mine, theirs }
    }

    pub(crate) async fn move_to(&self, tier: Tier) -> Result<(), VectorError> {
        self.mover.move_to(tier, |_| {}).await
    }

    /// Every read of acme's gives acme's points, and all of them; globex has its own.
    pub(crate) async fn assert_only_ones_own(&self, wanted: usize, when: &str) {
        let all = all(&self.mine).await.unwrap();
        assert_eq!(all.len(), wanted, "{when}");
        assert!(all.values().all(|owner| owner == "acme"), "{when}");
        let hits = self.mine.query(&cases::near().limit(1000).unwrap()).await.unwrap();
        assert_eq!(hits.len(), wanted, "{when}");
        assert!(hits.iter().all(|hit| hit.payload()["owner"] == "acme"), "{when}");
        assert_eq!(self.mine.count(None).await.unwrap(), wanted as u64, "{when}");
        let found = self.mine.get(&[cases::id("A1"), cases::id("B1")]).await.unwrap();
        assert_eq!(found[0].point().map(|point| &point.payload()["owner"]), Some(&"acme".into()), "{when}");
        assert!(found[1].point().is_none(), "{when}");
        assert_eq!(self.theirs.query(&cases::near()).await.unwrap().len(), 2, "the neighbour: {when}");
    }

    /// No read finds anything, and none is asked of the other server.
    async fn assert_nothing_is_read_elsewhere(&self, when: &str) {
        self.source.server.clear_requests();
        assert!(matches!(all(&self.mine).await, Err(VectorError::Backend(_))), "{when}");
        assert!(matches!(self.mine.query(&cases::near()).await, Err(VectorError::Backend(_))), "{when}");
        assert!(matches!(self.mine.count(None).await, Err(VectorError::Backend(_))), "{when}");
        assert!(matches!(self.mine.get(&[cases::id("A1")]).await, Err(VectorError::Backend(_))), "{when}");
        let late = self.mine.upsert(vec![cases::point("late", 0.5, "acme")]).await;
        assert!(matches!(late, Err(VectorError::Backend(_))), "{when}");
        assert_eq!(self.source.server.requests().len(), 0, "{when}");
        assert_eq!(self.theirs.query(&cases::near()).await.unwrap().len(), 2, "the neighbour: {when}");
    }

    /// How many points of acme's life a server has, as one counts who asks it without us.
    pub(crate) async fn truth(&self, wire: &Wire) -> u64 {
        let mut points = PointsClient::connect(wire.server.url()).await.unwrap();
        let life = self.life.uuid().to_string();
        let mut count = 0;
        for collection_name in ["docs".to_owned(), format!("docs-{}", self.partition())] {
            let filter = Some(pb::Filter::must([pb::Condition::matches("tenancy.life", life.clone())]));
            let request = pb::CountPoints { collection_name, filter, exact: Some(true), ..Default::default() };
            count += points.count(request).await.map_or(0, |counted| counted.into_inner().result.unwrap().count);
        }
        count
    }

    pub(crate) fn partition(&self) -> String {
        let realm = self.tenants.realm().tag();
        let realm: String = realm.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{realm}-{}", self.life.uuid().simple())
    }
}

/// The owner of each point that a scan finds, none twice.
pub(crate) async fn all(mine: &TenantVectors) -> Result<BTreeMap<String, String>, VectorError> {
    let (mut all, mut from) = (BTreeMap::new(), None);
    loop {
        let page = mine.scroll(&Scroll::new(), from.as_ref()).await?;
        from = page.next().cloned();
        for point in page.into_points() {
            let owner = point.payload()["owner"].as_str().unwrap().to_owned();
            assert!(all.insert(point.id().as_str().to_owned(), owner).is_none(), "a point comes once");
        }
        if from.is_none() {
            return Ok(all);
        }
    }
}

pub(crate) async fn in_time<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(150), test).await.unwrap()
}

pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// More than a page.
pub(crate) const POINTS: usize = 260;

pub(crate) const OWN: [Layout; 2] = [Layout::Collections, Layout::ShardKeys];

/// There and back, with every request scoped on both servers.
#[tokio::test(flavor = "multi_thread")]
async fn v9_a_life_moves_between_layouts() {
    for layout in OWN {
        in_time(async {
            let house = House::new(layout).await;
            house.move_to(Tier::Dedicated).await.unwrap();
            house.assert_only_ones_own(POINTS, "there").await;
            house.mine.upsert(vec![cases::point("new", 0.5, "acme")]).await.unwrap();
            for (wire, layout) in [(&house.source, Layout::Shared), (&house.target, layout)] {
                recorded::assert_each_is_scoped(wire, layout, &house.tenants);
            }
            assert_eq!((house.truth(&house.source).await, house.truth(&house.target).await), (0, POINTS as u64 + 1));
            house.move_to(Tier::Shared).await.unwrap();
            house.assert_only_ones_own(POINTS + 1, "and back").await;
            assert_eq!((house.truth(&house.source).await, house.truth(&house.target).await), (POINTS as u64 + 1, 0));
        })
        .await;
    }
}

/// V9 and its relatives: what the target does in the middle of the move, on which call.
#[tokio::test(flavor = "multi_thread")]
async fn v9_a_target_that_fails_gives_nobody_elses_points() {
    let relatives = [
        ("the shard is not active when it is emptied", "Points/UpdateBatch", 1, WireFault::Refuse(Code::Unavailable)),
        ("the shard is not active when a page comes", "Points/UpdateBatch", 2, WireFault::Refuse(Code::Unavailable)),
        ("the connection goes before a page is done", "Points/UpdateBatch", 2, WireFault::CutBefore),
        ("the connection goes after a page is done", "Points/UpdateBatch", 2, WireFault::CutAfter),
        ("a page is taken and not done", "Points/UpdateBatch", 3, WireFault::Answer(pb::UpdateStatus::Acknowledged)),
        ("a page can't be counted", "Points/Count", 1, WireFault::Refuse(Code::Internal)),
        ("a page takes too long", "Points/UpdateBatch", 2, WireFault::Delay(Duration::from_secs(5))),
    ];
    for layout in OWN {
        let cases = relatives.clone().map(|(mechanism, method, call, fault)| {
            Box::pin(in_time(async move {
                let house = House::new(layout).await;
                house.target.server.fail(method, call, fault);
                let moved = house.move_to(Tier::Dedicated).await;
                assert!(matches!(moved, Err(VectorError::Backend(_) | VectorError::Busy)), "{mechanism}: {moved:?}");
                house.assert_only_ones_own(POINTS, mechanism).await;
                house.mine.upsert(vec![cases::point("new", 0.5, "acme")]).await.expect(mechanism);
                assert_eq!(house.mine.delete(&[cases::id("A0"), cases::id("B1")]).await.unwrap().removed(), 1);
                house.assert_only_ones_own(POINTS, mechanism).await;
                house.move_to(Tier::Dedicated).await.expect(mechanism);
                house.assert_only_ones_own(POINTS, mechanism).await;
                let counts = (house.truth(&house.source).await, house.truth(&house.target).await);
                assert_eq!(counts, (0, POINTS as u64), "{layout:?}: {mechanism}");
            }))
        });
        let all: Vec<()> = futures_util::stream::iter(cases).buffer_unordered(4).collect().await;
        assert_eq!(all.len(), relatives.len());
    }
}

/// A target that goes away once reads have turned: its tenant is told so, and nobody looks in the collection of all.
#[tokio::test(flavor = "multi_thread")]
async fn v9_a_target_that_went_away_is_not_stood_in_for() {
    for layout in OWN {
        in_time(async {
            let house = House::new(layout).await;
            house.move_to(Tier::Dedicated).await.unwrap();
            house.assert_only_ones_own(POINTS, "positive control").await;
            house.target.server.stop();
            house.assert_nothing_is_read_elsewhere("the server is gone").await;
            let back = house.move_to(Tier::Shared).await;
            assert!(matches!(back, Err(VectorError::Backend(_))), "what can't be read can't be moved: {back:?}");
            house.assert_nothing_is_read_elsewhere("a move back has begun").await;
        })
        .await;
    }
}

/// A shard that was made by somebody else and is not active yet: no request names another to fall back on.
#[tokio::test(flavor = "multi_thread")]
async fn v9_a_shard_that_is_not_active_has_no_stand_in() {
    in_time(async {
        let house = House::new(Layout::ShardKeys).await;
        let mut collections = CollectionsClient::connect(house.target.server.url()).await.unwrap();
        let partition = house.partition();
        for (name, state) in [(&*partition, pb::ReplicaState::Partial), ("default", pb::ReplicaState::Active)] {
            let key = Some(pb::ShardKey { key: Some(pb::shard_key::Key::Keyword(name.to_owned())) });
            let initial_state = Some(state.into());
            let request = pb::CreateShardKey { shard_key: key, initial_state, ..Default::default() };
            let request = pb::CreateShardKeyRequest {
                collection_name: "docs".to_owned(),
                request: Some(request),
                ..Default::default()
            };
            collections.create_shard_key(request).await.unwrap();
        }
        house.target.server.clear_requests();
        house.move_to(Tier::Dedicated).await.unwrap();
        house.assert_only_ones_own(POINTS, "the shard is not active").await;
        recorded::assert_each_is_scoped(&house.target, Layout::ShardKeys, &house.tenants);
        let selectors: Vec<_> = house
            .target
            .server
            .messages::<pb::QueryPoints>()
            .into_iter()
            .filter_map(|query| query.shard_key_selector)
            .collect();
        assert!(!selectors.is_empty());
        assert!(selectors.iter().all(|selector| selector.fallback.is_none() && selector.shard_keys.len() == 1));
    })
    .await;
}

/// A source that has somebody else's point under acme's life: it is not carried on, and it is on record.
#[tokio::test(flavor = "multi_thread")]
async fn v9_what_is_not_ones_own_is_not_copied() {
    in_time(async {
        let house = House::new(Layout::Collections).await;
        // As an operator might who mends a payload by hand: globex's points are said to be acme's.
        let mut points = PointsClient::connect(house.source.server.url()).await.unwrap();
        let (theirs, ours) = (house.tenants.life("globex").uuid(), house.tenants.life("acme").uuid());
        let filter = pb::Filter::must([pb::Condition::matches("tenancy.life", theirs.to_string())]);
        let request = pb::SetPayloadPoints {
            collection_name: "docs".to_owned(),
            wait: Some(true),
            payload: [("life".to_owned(), ours.to_string().into())].into(),
            key: Some("tenancy".to_owned()),
            points_selector: Some(pb::PointsSelector {
                points_selector_one_of: Some(pb::points_selector::PointsSelectorOneOf::Filter(filter)),
            }),
            ..Default::default()
        };
        points.set_payload(request).await.unwrap();
        let moved = house.move_to(Tier::Dedicated).await;
        assert!(matches!(moved, Err(VectorError::Denied(Denial::StoreBreach))), "{moved:?}");
        assert_eq!(house.tenants.denied_rules().await.iter().filter(|rule| rule.contains("breach")).count(), 1);
        assert!(house.truth(&house.target).await <= 256, "no page with such a point");
    })
    .await;
}

/// A life that is erased wherever it is: counted and scanned by who asks the servers without us.
#[tokio::test(flavor = "multi_thread")]
async fn an_erased_life_is_gone_from_both_servers() {
    for layout in OWN {
        for (state, stops_at) in [("never moved", None), ("in the middle", Some(3)), ("moved", Some(0))] {
            in_time(async {
                let house = House::new(layout).await;
                if let Some(call) = stops_at {
                    if call > 0 {
                        house.target.server.fail("Points/UpdateBatch", call, WireFault::Refuse(Code::Unavailable));
                    }
                    assert_eq!(house.move_to(Tier::Dedicated).await.is_ok(), call == 0, "{state}");
                }
                let before = (house.truth(&house.source).await, house.truth(&house.target).await);
                assert!(before.0 + before.1 >= POINTS as u64, "{state}: {before:?}");
                house.tenants.erase("acme");
                let credential = Credential::bearer(house.tenants.operator_token());
                let reach = Reach::One(TenantId::parse("acme").unwrap());
                let operators = house.tenants.realm().operators();
                let lasts = Duration::from_secs(60);
                let grant = operators.open(&credential, "offboarding", "CASE-1", reach, lasts).await.unwrap();
                let verdict = house.tenants.realm().erase_store(&grant, house.life, &house.store).await;
                assert_eq!(verdict, Ok(StoreVerdict::LogicalOnly), "the collection of all is the worse: {state}");
                let after = (house.truth(&house.source).await, house.truth(&house.target).await);
                assert_eq!(after, (0, 0), "{layout:?}: {state}");
                assert!(matches!(house.move_to(Tier::Dedicated).await, Err(VectorError::Denied(_))), "{state}");
                assert_eq!(house.theirs.query(&cases::near()).await.unwrap().len(), 2, "{state}");
            })
            .await;
        }
    }
}
