//! Lives that are erased, wherever they are and in the middle of a move too.

use std::time::{Duration, Instant};

use tenancy_core::{Credential, Denial, Reach, StoreVerdict, TenantId};
use tenancy_testkit::TestTenants;
use tenancy_vector::tiers::Tier;
use tenancy_vector::{VectorError, VectorStore};

use crate::cases;
use crate::house::{House, PATIENCE, in_time, numbered};
use crate::stops::{Stops, Watched};

/// Erases `acme` from a store.
pub(crate) async fn erase(tenants: &TestTenants, store: &VectorStore) -> StoreVerdict {
    let life = tenants.life("acme");
    tenants.erase("acme");
    let credential = Credential::bearer(tenants.operator_token());
    let reach = Reach::One(TenantId::parse("acme").unwrap());
    let operators = tenants.realm().operators();
    let grant = operators.open(&credential, "offboarding", "CASE-1", reach, Duration::from_secs(60)).await.unwrap();
    tenants.realm().erase_store(&grant, life, store).await.unwrap()
}

/// The move stops when the placement is said to be this for the first time.
const STATES: [(&str, Option<&str>); 8] = [
    ("a life that was never moved", None),
    ("a move that has begun", Some(r#""Begun""#)),
    ("a copy that has begun", Some(r#"{"Copying":null}"#)),
    ("a part is copied", Some(r#"{"Copying":""#)),
    ("all is copied", Some(r#""CatchingUp""#)),
    ("writes wait", Some(r#""Paused""#)),
    ("reads have turned", Some(r#""Clearing""#)),
    ("a life that was moved", Some("nothing stops it")),
];

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_life_is_gone_from_both() {
    for (state, stop) in STATES {
        in_time(async {
            let stops = Stops::default();
            let house = House::plain(Watched::new(&stops)).await;
            let (mine, theirs) = (house.of("acme").await, house.of("globex").await);
            mine.upsert((0..600).map(|n| numbered(&format!("doc:{n}"), 1)).collect()).await.unwrap();
            theirs.upsert(vec![numbered("doc:1", 2)]).await.unwrap();
            let mover = house.mover("acme").await;
            if let Some(stop) = stop {
                stops.stop_at(stop);
                let moved = mover.move_to(Tier::Dedicated, |_| {}).await;
                assert_eq!(moved.is_ok(), stop == "nothing stops it", "{state}: {moved:?}");
                stops.stop_at("");
                mine.upsert(vec![numbered("doc:1", 2)]).await.unwrap();
            }
            let (shared, dedicated) = house.counts("acme").await;
            assert!(shared + dedicated >= 600, "{state}: positive control");

            let (began, is_moving) = (Instant::now(), stop.is_some_and(|stop| stop != "nothing stops it"));
            assert_eq!(erase(&house.tenants, &house.store).await, StoreVerdict::Verified, "{state}");
            assert!(!is_moving || began.elapsed() >= PATIENCE * 2, "what a mover has sent is waited for: {state}");
            let refused = mover.move_to(Tier::Dedicated, |_| {}).await;
            assert!(matches!(refused, Err(VectorError::Denied(Denial::TenantErased))), "{state}: {refused:?}");
            let late = mine.upsert(vec![numbered("late", 1)]).await;
            assert!(matches!(late, Err(VectorError::Denied(Denial::TenantErased))), "{state}: {late:?}");
            assert_eq!(stops.notes(), 0, "what was noted is gone: {state}");
            assert_eq!(house.counts("globex").await, (1, 0), "{state}");
            assert_eq!(theirs.query(&cases::near()).await.unwrap().len(), 1, "{state}");
        })
        .await;
    }
}
