//! Handles of a life that is gone, and movers of one that is not one's own.

use std::time::Duration;

use serde_json::json;
use tenancy_core::Denial;
use tenancy_testkit::TestTenants;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::tiers::{MemoryTiers, Mover, Tier, TieredBackend};
use tenancy_vector::{Change, Scroll, Select, VectorName, VectorStore};

use crate::cases::{object, of};
use crate::fake::Fake;
use crate::house::{House, POINTS, is_denied, key, lang, library, nothing, schema};
use crate::spy::Spy;

/// Handles, cursors and streams that were made before the end are of no use after it.
pub(crate) async fn a_life_that_is_gone_with_its_handles(house: House) {
    let cursor = house.acme.scroll(&Scroll::new().limit(1).unwrap(), None).await.unwrap().next().cloned();
    let clone = house.acme.clone();
    let theirs = house.theirs().await;
    house.tenants.erase("acme");
    let gone = Denial::TenantErased;
    assert!(is_denied(&clone.scroll(&Scroll::new().limit(1).unwrap(), cursor.as_ref()).await, gone));
    assert!(is_denied(&clone.matrix(&VectorName::dense(), None, 5, 5).await, gone));
    assert!(is_denied(&clone.facet(&key("lang"), None, 5).await, gone));
    assert!(is_denied(&clone.change(vec![Change::Delete(Select::All)]).await, gone));
    assert!(is_denied(&clone.change(vec![]).await, gone), "also where nothing is asked");
    assert!(is_denied(&clone.get(&[]).await, gone), "also where nothing is asked");
    assert!(is_denied(&clone.count(Some(&nothing())).await, gone), "also where it is decided already");
    assert_eq!(house.theirs().await, theirs);
}

/// A mover moves the life of its context; another's is where it was. And what it copies is checked.
#[tokio::test]
async fn a_mover_moves_ones_own_and_copies_no_lie() {
    let (tenants, others, spy) = (TestTenants::new().await, TestTenants::new().await, Spy::default());
    let (shared, dedicated) = (Fake::new(spy.clone()), ReferenceBackend::new());
    let tiered = TieredBackend::new(shared, dedicated.clone(), MemoryTiers::new()).patience(Duration::from_millis(100));
    let mover = Mover::new(tenants.realm(), tiered.clone(), schema());
    let store = VectorStore::new(tenants.realm(), tiered, schema());
    let (acme, globex) = (of(&tenants, &store, "acme").await, of(&tenants, &store, "globex").await);
    acme.upsert(library("acme")).await.unwrap();
    globex.upsert(library("globex")).await.unwrap();
    let foreign = mover.scoped(&others.context("acme").await).map(drop);
    assert!(is_denied(&foreign, Denial::ForeignRealm), "the same name in another realm");
    let (mine, theirs) = (
        mover.scoped(&tenants.context("acme").await).unwrap(),
        mover.scoped(&tenants.context("globex").await).unwrap(),
    );
    let looked_into = VectorStore::new(tenants.realm(), dedicated, schema());
    let inside = of(&tenants, &looked_into, "acme").await;

    spy.lie(vec![spy.kept(usize::from(POINTS))]);
    let refused = mine.move_to(Tier::Dedicated, |_| {}).await;
    assert!(is_denied(&refused, Denial::StoreBreach), "another's point in what is copied: {refused:?}");
    assert_eq!(inside.count(None).await.unwrap(), 0, "nothing of the page was copied");
    assert_eq!(mine.placement().await.unwrap().tier(), Tier::Shared);
    let by_filter = Change::Delete(Select::Matching(nothing().not()));
    let by_lie =
        acme.change(vec![Change::SetPayload(Select::Matching(lang("en")), object(json!({"x": 1})), None)]).await;
    assert!(by_lie.is_err(), "a write by a condition, while it moves, among points of another");
    spy.lie(vec![]);
    mine.move_to(Tier::Dedicated, |_| {}).await.unwrap();
    assert_eq!(mine.placement().await.unwrap().tier(), Tier::Dedicated, "positive control");
    assert_eq!(inside.count(None).await.unwrap(), u64::from(POINTS));
    let at = theirs.placement().await.unwrap();
    assert_eq!((at.tier(), at.is_moving()), (Tier::Shared, false), "the neighbour is where it was");
    acme.change(vec![by_filter]).await.unwrap();
    assert_eq!((acme.count(None).await.unwrap(), globex.count(None).await.unwrap()), (0, u64::from(POINTS)));
}
