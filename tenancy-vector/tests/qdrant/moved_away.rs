//! What a life that was moved away leaves behind: nothing, unless something is in it.

use std::time::Duration;

use futures_util::StreamExt;
use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::collections_client::CollectionsClient;
use qdrant_client::qdrant::points_client::PointsClient;
use tenancy_testkit::qdrant::WireFault;
use tenancy_vector::tiers::{Mover, TenantMover, Tier, TieredBackend};
use tenancy_vector::{Change, Select, TenantVectors, VectorStore};

use crate::tiered::{House, OWN, PATIENCE, POINTS, all, in_time};
use crate::{Layout, cases};

impl House {
    /// What another process of the same deployment has.
    async fn process(&self) -> (TenantMover, TenantVectors) {
        let shared = self.source.connect(self.source.options(), &cases::schema()).await;
        let dedicated = self.target.connect(self.target.options(), &cases::schema()).await;
        let tiered = TieredBackend::new(shared, dedicated, self.tiers.clone()).patience(PATIENCE);
        let mover = Mover::new(self.tenants.realm(), tiered.clone(), cases::schema());
        let store = VectorStore::new(self.tenants.realm(), tiered, cases::schema());
        let mover = mover.scoped(&self.tenants.context("acme").await).unwrap();
        (mover, cases::of(&self.tenants, &store, "acme").await)
    }

    /// How many places of acme's life the target has, empty or not, as one counts who asks it without us.
    async fn places(&self) -> usize {
        let mut collections = CollectionsClient::connect(self.target.server.url()).await.unwrap();
        let listed = collections.list(pb::ListCollectionsRequest {}).await.unwrap().into_inner().collections;
        let own = format!("docs-{}", self.partition());
        let named = listed.iter().filter(|collection| collection.name == own).count();
        let request = pb::ListShardKeysRequest { collection_name: "docs".to_owned() };
        let keys = collections.list_shard_keys(request).await.map_or(vec![], |keys| keys.into_inner().shard_keys);
        let key = Some(pb::ShardKey { key: Some(pb::shard_key::Key::Keyword(self.partition())) });
        named + keys.iter().filter(|found| found.key == key).count()
    }

    /// A point of acme's life that somebody writes to the target, past us.
    async fn write_late(&self, layout: Layout) {
        let partition = self.partition();
        let key = pb::ShardKey { key: Some(pb::shard_key::Key::Keyword(partition.clone())) };
        let (collection_name, shard_key_selector) = match layout {
            Layout::Shared | Layout::Collections => (format!("docs-{partition}"), None),
            Layout::ShardKeys => {
                ("docs".to_owned(), Some(pb::ShardKeySelector { shard_keys: vec![key], fallback: None }))
            }
        };
        let tag = vec![("life", self.life.uuid().to_string())];
        let payload = [("tenancy".to_owned(), pb::Value::from(tag))].into();
        let vectors = pb::NamedVectors::default().add_vector("dense", vec![1.0; cases::DIMENSION]);
        let point = pb::PointStruct { id: Some(7u64.into()), payload, vectors: Some(vectors.into()) };
        let request = pb::UpsertPoints {
            collection_name,
            wait: Some(true),
            points: vec![point],
            shard_key_selector,
            ..Default::default()
        };
        PointsClient::connect(self.target.server.url()).await.unwrap().upsert(request).await.unwrap();
    }
}

/// What a life has left is not kept empty for it, and is there again when it comes back; also for a process that has written
/// there before and saw nothing of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_life_that_was_moved_away_leaves_no_empty_place() {
    let ways = [(Layout::Collections, false), (Layout::ShardKeys, false), (Layout::Collections, true)];
    let houses = ways.map(|(layout, is_emptied)| Box::pin(in_time(leaves_no_empty_place(layout, is_emptied))));
    let all: Vec<()> = futures_util::stream::iter(houses).buffer_unordered(3).collect().await;
    assert_eq!(all.len(), ways.len());
}

async fn leaves_no_empty_place(layout: Layout, is_emptied: bool) {
    let house = House::new(layout).await;
    let (mover, mine) = house.process().await;
    assert_eq!(house.places().await, 0, "positive control");
    house.move_to(Tier::Dedicated).await.unwrap();
    assert_eq!(house.places().await, 1, "{layout:?}");
    for mine in [&house.mine, &mine] {
        mine.upsert(vec![cases::point("new", 0.5, "acme")]).await.unwrap();
    }
    house.assert_only_ones_own(POINTS + 1, "there").await;
    house.move_to(Tier::Shared).await.unwrap();
    assert_eq!(house.places().await, 0, "{layout:?}");
    house.assert_only_ones_own(POINTS + 1, "and back").await;
    if is_emptied {
        house.mine.change(vec![Change::Delete(Select::All)]).await.unwrap();
    }
    let left = if is_emptied { 0 } else { POINTS as u64 + 1 };
    mover.move_to(Tier::Dedicated, |_| {}).await.expect("the other process believes that it is there");
    assert_eq!((house.places().await, house.truth(&house.target).await), (1, left), "{layout:?}");
    for (name, mine) in [("one", &house.mine), ("two", &mine)] {
        mine.upsert(vec![cases::point(name, 0.5, "acme")]).await.unwrap();
    }
    assert_eq!(all(&house.mine).await.unwrap().len() as u64, left + 2);
    mover.move_to(Tier::Shared, |_| {}).await.unwrap();
    assert_eq!((house.places().await, house.truth(&house.source).await), (0, left + 2), "{layout:?}");
}

/// A place with a point in it stays, whoever wrote it: here after all was deleted, and before it was counted.
#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_is_not_empty_is_not_removed() {
    for layout in OWN {
        in_time(async {
            let house = House::new(layout).await;
            house.move_to(Tier::Dedicated).await.unwrap();
            let server = &house.target.server;
            server.clear_requests();
            server.fail("Points/Count", 1, WireFault::Delay(Duration::from_secs(1)));
            let mover = house.mover.clone();
            let moving = tokio::spawn(async move { mover.move_to(Tier::Shared, |_| {}).await });
            while server.messages::<pb::CountPoints>().is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            house.write_late(layout).await;
            moving.await.unwrap().unwrap();
            let asked: Vec<_> = server.requests().iter().map(|request| request.method()).collect();
            assert!(!asked.iter().any(|method| method.starts_with("Collections/Delete")), "{layout:?}: {asked:?}");
            assert_eq!((house.places().await, house.truth(&house.target).await), (1, 1), "{layout:?}");
            house.assert_only_ones_own(POINTS, "it is in no answer").await;
        })
        .await;
    }
}
