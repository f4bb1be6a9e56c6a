//! Slow calls of some lives, and what becomes of the others meanwhile.

use std::time::Duration;

use tenancy_testkit::qdrant::WireFault;
use tenancy_vector::VectorStore;

use crate::{Layout, Wire, cases, tenants};

/// Each has calls without end under way; a life has half of what is free and no more, so one is left for whoever comes.
#[tokio::test(flavor = "multi_thread")]
async fn slow_calls_of_some_hold_up_nobody_else() {
    for layout in Layout::ALL {
        tokio::time::timeout(Duration::from_secs(30), some_are_slow(layout)).await.expect("the neighbour is held up");
    }
}

async fn some_are_slow(layout: Layout) {
    let (wire, tenants) = (Wire::start(layout).await, tenants().await);
    let backend = wire.connect(wire.options().concurrency(8), &cases::schema()).await;
    let store = VectorStore::new(tenants.realm(), backend, cases::schema());
    for tenant in ["acme", "a", "a-b", "globex"] {
        let mine = cases::of(&tenants, &store, tenant).await;
        mine.upsert(vec![cases::point("one", 0.5, tenant)]).await.unwrap();
    }
    let neighbour = cases::of(&tenants, &store, "globex").await;
    for call in 1..=8 {
        wire.server.fail("Points/Query", call, WireFault::Delay(Duration::from_secs(3600)));
    }
    let asked = || wire.server.requests().iter().filter(|request| request.method() == "Points/Query").count();
    let (mut calls, mut under_way) = (Vec::new(), 0);
    for (greedy, has) in [("acme", 4), ("a", 2), ("a-b", 1)] {
        let mine = cases::of(&tenants, &store, greedy).await;
        for _ in 0..20 {
            let mine = mine.clone();
            calls.push(tokio::spawn(async move { mine.query(&cases::near()).await }));
        }
        under_way += has;
        while asked() < under_way {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        for _ in 0..3 {
            assert_eq!(neighbour.count(None).await.unwrap(), 1, "{layout:?}, beside {greedy}");
        }
        assert_eq!(asked(), under_way, "{greedy} has its share and no more: {layout:?}");
    }
    calls.iter().for_each(tokio::task::JoinHandle::abort);
}
