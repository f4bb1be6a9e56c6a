//! Case C6: an invalidation removes exactly what a put wrote, or says that it did not.

use std::sync::atomic::Ordering::SeqCst;

use tenancy_cache::{Bypass, CacheError, Lookup, Put, ResponseParts};
use tenancy_core::Outcome;

use crate::rig::{Look, World};
use crate::samples;

#[tokio::test]
async fn it_removes_exactly_the_key_that_was_put() {
    let world = World::new().await;
    let (mine, theirs) = (world.of("acme").await, world.of("globex").await);
    let (parts, other) = (samples::response(), ResponseParts { endpoint: "other".into(), ..samples::response() });
    mine.response().fill(&other, "other").await;
    theirs.response().fill(&parts, "theirs").await;

    mine.response().fill(&parts, "mine").await;
    mine.response::<String>().invalidate(&parts).await.unwrap();
    assert_eq!(world.rig.removed.lock().unwrap().last(), Some(&world.rig.last_put().0), "the very key");
    mine.retrieval().fill(&samples::retrieval(), "mine").await;
    mine.retrieval::<String>().invalidate(&samples::retrieval()).await.unwrap();
    assert_eq!(world.rig.removed.lock().unwrap().last(), Some(&world.rig.last_put().0));
    mine.embedding().fill(&samples::embedding(), "mine").await;
    mine.embedding::<String>().invalidate(&samples::embedding()).await.unwrap();
    assert_eq!(world.rig.removed.lock().unwrap().last(), Some(&world.rig.last_put().0));

    assert_eq!(mine.response::<String>().hit(&parts).await, None);
    assert_eq!(mine.retrieval::<String>().hit(&samples::retrieval()).await, None);
    assert_eq!(mine.embedding::<String>().hit(&samples::embedding()).await, None);
    assert_eq!(mine.response().hit(&other).await.as_deref(), Some("other"), "another question stays");
    assert_eq!(theirs.response().hit(&parts).await.as_deref(), Some("theirs"), "another tenant's stays");
    assert_eq!(world.recorded(Outcome::Changed, "cache.invalidate").await, 3);
}

#[tokio::test]
async fn a_failure_is_an_error_and_the_layer_stands_aside_until_a_retry_succeeds() {
    let world = World::new().await;
    let (mine, theirs) = (world.of("acme").await, world.of("globex").await);
    let other = ResponseParts { endpoint: "other".into(), ..samples::response() };
    let aside = async |parts: &ResponseParts| {
        matches!(mine.response::<String>().lookup(parts).await.unwrap(), Lookup::Bypass(Bypass::InvalidationOwed))
    };
    mine.response().fill(&samples::response(), "stale").await;
    mine.response().fill(&other, "other").await;
    mine.embedding().fill(&samples::embedding(), "vector").await;
    theirs.response().fill(&samples::response(), "theirs").await;

    world.rig.remove_fails.store(true, SeqCst);
    let error = mine.response::<String>().invalidate(&samples::response()).await.unwrap_err();
    assert!(matches!(error, CacheError::Invalidate(_)), "{error:?}");
    assert!(aside(&samples::response()).await && aside(&other).await, "the whole layer of the tenant");
    let mine_again = world.of("acme").await;
    let look = mine_again.response::<String>().lookup(&other).await.unwrap();
    assert!(matches!(look, Lookup::Bypass(Bypass::InvalidationOwed)), "for every handle");
    assert_eq!(mine.embedding().hit(&samples::embedding()).await.as_deref(), Some("vector"), "another layer goes on");
    assert_eq!(theirs.response().hit(&samples::response()).await.as_deref(), Some("theirs"), "so does a neighbour");

    world.rig.remove_fails.store(false, SeqCst);
    mine.response::<String>().invalidate(&other).await.unwrap();
    assert!(aside(&other).await, "the success of another one settles nothing");
    mine.response::<String>().invalidate(&samples::response()).await.unwrap();
    assert_eq!(mine.response::<String>().hit(&samples::response()).await, None, "gone, and the layer is back");
    assert_eq!(world.recorded(Outcome::Failed, "cache.invalidate").await, 1);
}

#[tokio::test]
async fn a_key_that_can_t_be_known_is_owed_too_and_a_flush_settles_it() {
    let world = World::new().await;
    let mine = world.of("acme").await;
    mine.response().fill(&samples::response(), "stale").await;
    world.rig.down.store(true, SeqCst);
    assert!(mine.response::<String>().invalidate(&samples::response()).await.is_err());
    assert!(mine.flush().await.is_err());
    world.rig.down.store(false, SeqCst);
    let look = mine.embedding::<String>().lookup(&samples::embedding()).await.unwrap();
    assert!(matches!(look, Lookup::Bypass(Bypass::InvalidationOwed)), "a failed flush owes every layer: {look:?}");
    mine.flush().await.unwrap();
    assert_eq!(mine.response::<String>().hit(&samples::response()).await, None);
    assert_eq!(mine.embedding::<String>().hit(&samples::embedding()).await, None);
    assert_eq!(world.recorded(Outcome::Changed, "cache.flush").await, 1);
}

/// What a flush leaves behind in the store is not found by any way.
#[tokio::test]
async fn a_flush_reaches_every_layer_of_one_tenant_by_its_epoch_alone() {
    let world = World::new().await;
    world.rig.lazy.store(true, SeqCst);
    let (mine, theirs) = (world.of("acme").await, world.of("globex").await);
    theirs.response().fill(&samples::response(), "theirs").await;
    mine.response().fill(&samples::response(), "mine").await;
    mine.retrieval().fill(&samples::retrieval(), "mine").await;
    mine.embedding().fill(&samples::embedding(), "mine").await;
    mine.flush().await.unwrap();
    assert_eq!(mine.response::<String>().hit(&samples::response()).await, None);
    assert_eq!(mine.retrieval::<String>().hit(&samples::retrieval()).await, None);
    assert_eq!(mine.embedding::<String>().hit(&samples::embedding()).await, None);
    assert_eq!(theirs.response().hit(&samples::response()).await.as_deref(), Some("theirs"));
    mine.response().fill(&samples::response(), "new").await;
    assert_eq!(mine.response().hit(&samples::response()).await.as_deref(), Some("new"), "and the cache is alive");
}

#[tokio::test]
async fn a_fill_that_an_invalidation_overtook_is_not_kept() {
    let world = World::new().await;
    world.rig.lazy.store(true, SeqCst);
    let mine = world.of("acme").await;
    for (mechanism, flush) in [("the generation of the layer", false), ("the epoch", true)] {
        let slot = mine.embedding::<String>().slot(&samples::embedding()).await;
        if flush {
            mine.flush().await.unwrap();
        } else {
            mine.embedding::<String>().invalidate(&samples::embedding()).await.unwrap();
        }
        assert_eq!(slot.put(&"stale".to_owned()).await.unwrap(), Put::Skipped(Bypass::Invalidated), "{mechanism}");
        assert_eq!(mine.embedding::<String>().hit(&samples::embedding()).await, None, "{mechanism}");
    }
    // Another process over the same back end does not know the generation, but the epoch.
    let elsewhere = tenancy_cache::Caches::new(world.tenants.realm(), std::sync::Arc::clone(&world.rig));
    let theirs = elsewhere.scoped(mine.context()).unwrap();
    let slot = theirs.embedding::<String>().slot(&samples::embedding()).await;
    mine.flush().await.unwrap();
    let _ = slot.put(&"stale".to_owned()).await.unwrap();
    assert_eq!(mine.embedding::<String>().hit(&samples::embedding()).await, None);
    assert_eq!(theirs.embedding::<String>().hit(&samples::embedding()).await, None);
}
