//! Writes that may be done later than they fail, writes of very many points, and placements that are not true.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::tiers::{MemoryTiers, Mover, Tier, TieredBackend};
use tenancy_vector::{Change, Select, VectorError, VectorStore};

use crate::cases;
use crate::fake::Fake;
use crate::house::{House, PATIENCE, all, in_time, numbered};
use crate::stops::{Fails, Stops, Watched};

/// A write that failed on its way to the engine may still be done: it counts as under way until it is old.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_outcome_is_not_known_stays_noted() {
    in_time(async {
        let (stops, left) = (Stops::default(), Arc::new(AtomicU64::new(u64::MAX)));
        let shared = Fake::new(Fails(Arc::clone(&left)));
        let house = House::on(shared, ReferenceBackend::new(), Watched::new(&stops)).await;
        let mine = house.of("acme").await;
        mine.upsert(vec![numbered("doc:1", 1), numbered("doc:2", 1)]).await.unwrap();
        stops.stop_at("\"CatchingUp\"");
        assert!(house.move_to("acme", Tier::Dedicated).await.is_err(), "all is copied");
        stops.stop_at("");
        left.store(0, Ordering::Relaxed);
        let failed = mine.upsert(vec![numbered("doc:1", 2)]).await;
        assert!(matches!(failed, Err(VectorError::Backend(_))), "{failed:?}");
        assert_eq!(stops.closed_and_longest().0, 0, "nobody knows whether it is over");
        left.store(u64::MAX, Ordering::Relaxed);
        mine.upsert(vec![numbered("doc:2", 2)]).await.unwrap();
        assert_eq!(stops.closed_and_longest().0, 1, "the positive control");
        // The engine does what it was asked, late.
        let engine = VectorStore::new(house.tenants.realm(), house.shared.clone(), cases::schema());
        cases::of(&house.tenants, &engine, "acme").await.upsert(vec![numbered("doc:1", 2)]).await.unwrap();
        house.move_to("acme", Tier::Dedicated).await.unwrap();
        assert_eq!(all(&mine).await, BTreeMap::from([("doc:1".to_owned(), 2), ("doc:2".to_owned(), 2)]));
    })
    .await;
}

/// What a condition means is noted and written portion by portion, so neither memory nor time grows with a life.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_large_life_is_noted_in_portions() {
    in_time(async {
        let stops = Stops::default();
        let house = House::plain(Watched::new(&stops)).await;
        let mine = house.of("acme").await;
        mine.upsert((0..600).map(|n| numbered(&format!("doc:{n}"), 1)).collect()).await.unwrap();
        stops.stop_at("\"CatchingUp\"");
        assert!(house.move_to("acme", Tier::Dedicated).await.is_err(), "all is copied");
        stops.stop_at("");
        let two = cases::object(serde_json::json!({ "n": 2 }));
        mine.change(vec![Change::SetPayload(Select::All, two, None)]).await.unwrap();
        assert_eq!(stops.closed_and_longest(), (3, 256));
        house.move_to("acme", Tier::Dedicated).await.unwrap();
        let there = all(&mine).await;
        assert!(there.len() == 600 && there.values().all(|n| *n == 2));
    })
    .await;
}

/// Placements of an older copy say that a life is where it was once: what it has elsewhere alone is not cleared away.
#[tokio::test(flavor = "multi_thread")]
async fn a_life_that_moved_since_the_placements_were_copied_is_not_moved() {
    in_time(async {
        let house = House::new().await;
        // As they were while the life was in the dedicated back end.
        let older = MemoryTiers::new();
        let then = TieredBackend::new(ReferenceBackend::new(), ReferenceBackend::new(), older.clone());
        let then = Mover::new(house.tenants.realm(), then.patience(PATIENCE), cases::schema());
        let acme = house.tenants.context("acme").await;
        then.scoped(&acme).unwrap().move_to(Tier::Dedicated, |_| {}).await.unwrap();
        let points: Vec<_> = (1..=300).map(|n| numbered(&format!("doc:{n}"), 1)).collect();
        house.of("acme").await.upsert(points).await.unwrap();
        house.move_to("acme", Tier::Dedicated).await.unwrap();
        house.move_to("acme", Tier::Shared).await.unwrap();
        assert_eq!(house.counts("acme").await, (300, 0));

        let restored = TieredBackend::new(house.shared.clone(), house.dedicated.clone(), older).patience(PATIENCE);
        let store = VectorStore::new(house.tenants.realm(), restored.clone(), cases::schema());
        let mover = Mover::new(house.tenants.realm(), restored, cases::schema()).scoped(&acme).unwrap();
        let mine = cases::of(&house.tenants, &store, "acme").await;
        // Written where the placements say: all but the last, which is in the other back end alone.
        let again: Vec<_> = (1..300).map(|n| numbered(&format!("doc:{n}"), 2)).collect();
        for (written, counts) in [(again, (300, 299)), (vec![numbered("doc:301", 2)], (300, 300))] {
            mine.upsert(written).await.unwrap();
            let refused = mover.move_to(Tier::Shared, |_| {}).await;
            assert!(matches!(refused, Err(VectorError::Misplaced)), "{refused:?}");
            assert_eq!(house.counts("acme").await, counts, "nothing was cleared");
        }
        // Nobody can tell which of two that differ is the newer.
        mine.upsert(vec![numbered("doc:300", 2)]).await.unwrap();
        let refused = mover.move_to(Tier::Shared, |_| {}).await;
        assert!(matches!(refused, Err(VectorError::Misplaced)), "{refused:?}");
        assert_eq!(house.counts("acme").await, (300, 301), "nothing was cleared");
        // What is here as it is there is not there alone.
        mine.upsert((1..=300).map(|n| numbered(&format!("doc:{n}"), 1)).collect()).await.unwrap();
        mover.move_to(Tier::Shared, |_| {}).await.unwrap();
        assert_eq!(house.counts("acme").await, (301, 0));
        let there = all(&mine).await;
        assert!(there.iter().all(|(name, n)| *n == if name == "doc:301" { 2 } else { 1 }));
    })
    .await;
}

/// Placements that were lost say that a life is where it has nothing: what it has elsewhere is not cleared away.
#[tokio::test(flavor = "multi_thread")]
async fn a_life_that_is_not_where_it_is_said_to_be_is_not_moved() {
    in_time(async {
        let house = House::new().await;
        house.of("acme").await.upsert(vec![numbered("doc:1", 1)]).await.unwrap();
        house.move_to("acme", Tier::Dedicated).await.unwrap();
        let forgetful =
            TieredBackend::new(house.shared.clone(), house.dedicated.clone(), MemoryTiers::new()).patience(PATIENCE);
        let written = forgetful.clone();
        let mover = Mover::new(house.tenants.realm(), forgetful, cases::schema());
        let move_to = async |tenant| {
            let mover = mover.scoped(&house.tenants.context(tenant).await).unwrap();
            mover.move_to(Tier::Dedicated, |_| {}).await
        };
        let refused = move_to("acme").await;
        assert!(matches!(refused, Err(VectorError::Misplaced)), "{refused:?}");
        assert_eq!(house.counts("acme").await, (0, 1), "nothing was cleared");
        // A service that took the placements for new ones writes where they say.
        let store = VectorStore::new(house.tenants.realm(), written, cases::schema());
        cases::of(&house.tenants, &store, "acme").await.upsert(vec![numbered("doc:2", 1)]).await.unwrap();
        let refused = move_to("acme").await;
        assert!(matches!(refused, Err(VectorError::Misplaced)), "{refused:?}");
        assert_eq!(house.counts("acme").await, (1, 1), "nothing was cleared");
        move_to("globex").await.expect("who has nothing anywhere is moved");
        // What was written meanwhile is there alone: whether it is wanted is not the mover's to say.
        let refused = house.move_to("acme", Tier::Shared).await;
        assert!(matches!(refused, Err(VectorError::Misplaced)), "{refused:?}");
        let store = VectorStore::new(house.tenants.realm(), house.shared.clone(), cases::schema());
        let gone = cases::of(&house.tenants, &store, "acme").await.delete(&[cases::id("doc:2")]).await.unwrap();
        assert_eq!(gone.removed(), 1);
        house.move_to("acme", Tier::Shared).await.expect("and who is where it is said to be");
        assert_eq!(house.counts("acme").await, (1, 0));
    })
    .await;
}
