//! Every future of the caches, dropped after its k-th poll for every k.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use tenancy_cache::{CacheError, CacheSettings, Lookup};
use tenancy_core::{AuditSettings, Outcome};
use tenancy_testkit::TestTenants;

use crate::rig::{Look, World, dropped_after};
use crate::samples;

/// A world whose back end is pending twice in every call.
async fn slow_world() -> World {
    let settings = AuditSettings::default().patience(Duration::from_secs(10));
    let tenants = TestTenants::builder().build_with(|ready| ready.audit_settings(settings)).await;
    let world = World::over(tenants, Arc::default(), CacheSettings::new().patience(Duration::from_secs(10)));
    world.rig.pauses.store(2, SeqCst);
    world
}

/// After a drop: the neighbour finds its own, and the tenant's own answer is right or absent.
async fn all_is_well(world: &World, polls: usize) {
    let theirs = world.of("globex").await;
    assert_eq!(theirs.response().hit(&samples::response()).await.as_deref(), Some("theirs"), "after {polls} polls");
    let mine = world.of("acme").await;
    match mine.response::<String>().lookup(&samples::response()).await.unwrap() {
        Lookup::Hit(value) => assert_eq!(value, "mine", "after {polls} polls"),
        Lookup::Miss(_) | Lookup::Bypass(_) => {}
    }
}

/// Drops the future that `make` makes after each number of polls until it ends; between, all must be well. Gives back
/// how many were dropped.
async fn sweep<T>(world: &World, make: impl AsyncFn() -> T) -> u64 {
    for polls in 0..200 {
        let ended = dropped_after(polls, make()).await.is_some();
        all_is_well(world, polls).await;
        if ended {
            assert!(polls > 4, "the sweep reached inside: {polls}");
            return polls as u64;
        }
    }
    panic!("it never ended");
}

#[tokio::test]
async fn look_put_invalidate_and_flush() {
    let world = slow_world().await;
    let (mine, theirs) = (world.of("acme").await, world.of("globex").await);
    theirs.response().fill(&samples::response(), "theirs").await;

    // Not polled at all, a future has not begun; every other drop leaves a record.
    let dropped = sweep(&world, async || mine.response::<String>().lookup(&samples::response()).await.unwrap()).await;
    assert_eq!(world.recorded(Outcome::Cancelled, "cache.lookup").await, dropped - 1);

    let before = world.recorded(Outcome::Cancelled, "cache.put").await;
    let mut polls = 0;
    loop {
        mine.flush().await.unwrap();
        let slot = mine.response::<String>().slot(&samples::response()).await;
        let ended = dropped_after(polls, slot.put(&"mine".to_owned())).await.is_some();
        all_is_well(&world, polls).await;
        if ended {
            break;
        }
        polls += 1;
    }
    assert!(polls > 4);
    assert_eq!(world.recorded(Outcome::Cancelled, "cache.put").await - before, polls as u64 - 1);

    let dropped =
        sweep(&world, async || mine.response::<String>().invalidate(&samples::response()).await.unwrap()).await;
    assert_eq!(world.recorded(Outcome::Cancelled, "cache.invalidate").await, dropped - 1);
    assert_eq!(mine.response::<String>().hit(&samples::response()).await, None, "the last one went through");

    let dropped = sweep(&world, async || mine.flush().await.unwrap()).await;
    assert_eq!(world.recorded(Outcome::Cancelled, "cache.flush").await, dropped - 1);
    assert_eq!(mine.response::<String>().hit(&samples::response()).await, None, "the layer is not left aside");
}

/// An invalidation that was dropped may not have happened: the layer stands aside until one has.
#[tokio::test]
async fn a_dropped_invalidation_is_owed() {
    let world = slow_world().await;
    let mine = world.of("acme").await;
    mine.response().fill(&samples::response(), "stale").await;
    let layer = mine.response::<String>();
    assert!(dropped_after(2, layer.invalidate(&samples::response())).await.is_none());
    assert!(matches!(layer.lookup(&samples::response()).await.unwrap(), Lookup::Bypass(_)));
    layer.invalidate(&samples::response()).await.unwrap();
    assert_eq!(layer.hit(&samples::response()).await, None);
}

#[tokio::test]
async fn computing_and_waiting() {
    let world = slow_world().await;
    let (mine, theirs) = (world.of("acme").await, world.of("globex").await);
    theirs.response().fill(&samples::response(), "theirs").await;
    let compute = || async {
        tokio::task::yield_now().await;
        Ok::<_, CacheError>("mine".to_owned())
    };
    // Alone.
    let layer = mine.response();
    let mut polls = 0;
    loop {
        mine.flush().await.unwrap();
        let ended = dropped_after(polls, layer.get_or_try_compute(&samples::response(), compute)).await;
        all_is_well(&world, polls).await;
        if let Some(value) = ended {
            assert_eq!(value.unwrap(), "mine");
            break;
        }
        polls += 1;
    }
    // With somebody who waits for it, and gets the answer however far the first one came.
    for polls in 0..polls {
        mine.flush().await.unwrap();
        let parts = samples::response();
        let first = dropped_after(polls, layer.get_or_try_compute(&parts, compute));
        let second = layer.get_or_try_compute(&parts, compute);
        let (_, second) = tokio::join!(first, second);
        assert_eq!(second.unwrap(), "mine", "after {polls} polls");
        all_is_well(&world, polls).await;
    }
}

#[tokio::test]
async fn salt_and_moment() {
    let world = slow_world().await;
    let (mine, theirs) = (world.of("acme").await, world.of("globex").await);
    theirs.response().fill(&samples::response(), "theirs").await;
    let salt = mine.engine_salt(&samples::engine()).await.unwrap();
    for polls in 0..20 {
        let again = dropped_after(polls, mine.engine_salt(&samples::engine())).await;
        assert!(again.is_none_or(|again| again.unwrap() == salt));
        let _ = dropped_after(polls, mine.moment(tenancy_cache::Layer::Response, &[])).await;
        all_is_well(&world, polls).await;
    }
}
