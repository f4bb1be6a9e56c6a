//! How alike, and what is no vector.

use tenancy_cache::semantic::SemanticCache;
use tenancy_cache::{CacheError, SemanticParts};
use tenancy_core::chat::{Message, Role};
use tenancy_vector::conformance::ReferenceBackend;

use crate::{SAME, World, asks, fill, hit, hit_by, similarity};

/// At an angle of this cosine to [`SAME`].
fn at(cosine: f32) -> [f32; 3] {
    let across = (1.0 - cosine * cosine).max(0.0).sqrt();
    [0.6 * cosine, across, 0.8 * cosine]
}

#[tokio::test(flavor = "multi_thread")]
async fn c2_a_caller_asks_for_more_likeness_and_never_for_less() {
    for (store, world) in World::all().await {
        let acme = world.of("acme").await;
        fill(&acme, &asks("q1"), "kept").await;
        for (least, cosine, found) in [
            (None, 0.81, true),
            (None, 0.79, false),
            (Some(0.5), 0.81, true),
            (Some(0.5), 0.79, false),
            (Some(1e-30), 0.1, false),
            (Some(0.95), 0.94, false),
            (Some(0.95), 0.96, true),
        ] {
            let mine = acme.clone();
            let mine = least.map_or(mine.clone(), |least| mine.at_least(similarity(least)));
            let seen = hit_by(&mine, &asks("q2"), &at(cosine)).await;
            assert_eq!(seen.is_some(), found, "{store}: {least:?}, {cosine}");
        }
        let strict_first = acme.clone().at_least(similarity(0.95)).at_least(similarity(0.1));
        assert_eq!(hit_by(&strict_first, &asks("q2"), &at(0.9)).await, None, "{store}: it stays tightened");
        assert_eq!(hit_by(&acme, &asks("q2"), &at(-1.0)).await, None, "{store}: the opposite");
    }
}

#[tokio::test]
async fn the_most_alike_answers_first() {
    let world = World::new().await;
    let acme = world.of("acme").await;
    let strict = acme.clone().at_least(similarity(0.9999));
    for cosine in [0.85, 0.99, 0.9] {
        let place = crate::slot(&strict, &asks(&format!("{cosine}")), &at(cosine)).await;
        place.put(&format!("{cosine}")).await.unwrap();
    }
    assert_eq!(hit(&acme, &asks("q")).await.as_deref(), Some("0.99"));
    assert_eq!(hit(&acme, &asks("0.85")).await.as_deref(), Some("0.85"), "this very question comes before all");
}

#[tokio::test]
async fn what_is_no_vector_of_the_model_is_refused_and_counts_as_nothing() {
    let world = World::new().await;
    let acme = world.of("acme").await;
    fill(&acme, &asks("q1"), "kept").await;
    for vector in [
        &[][..],
        &[0.0; 3],
        &[-0.0; 3],
        &[f32::MIN_POSITIVE / 2.0; 3],
        &[0.6, f32::NAN, 0.8],
        &[f32::INFINITY, 0.0, 0.0],
        &[0.0, f32::NEG_INFINITY, 1.0],
        &[0.6, 0.0],
        &[0.6, 0.0, 0.8, 0.0],
    ] {
        let refused = acme.lookup(&asks("q2"), vector).await;
        assert!(matches!(refused, Err(CacheError::Vector)), "{vector:?}: {refused:?}");
    }
    let said = SemanticParts { dimensions: 4, ..asks("q2") };
    assert!(matches!(acme.lookup(&said, &SAME).await, Err(CacheError::Vector)), "of another model");
    assert_eq!(hit(&acme, &asks("q2")).await.as_deref(), Some("kept"), "nothing was bypassed or removed for it");
    for dimensions in [0, 1 << 20] {
        let backend = ReferenceBackend::new();
        let made = SemanticCache::new(world.tenants.realm(), &world.caches, backend, dimensions, similarity(0.9));
        assert!(matches!(made, Err(CacheError::Vector)), "{dimensions}");
    }
}

#[tokio::test]
async fn a_chat_without_a_question_has_none() {
    let world = World::new().await;
    let acme = world.of("acme").await;
    for messages in [vec![], vec![Message::new(Role::User, "q"), Message::new(Role::Assistant, "a")]] {
        let mut parts = asks("q");
        parts.chat.messages = messages;
        assert!(matches!(acme.lookup(&parts, &SAME).await, Err(CacheError::NoQuestion)));
        assert!(matches!(acme.invalidate(&parts).await, Err(CacheError::NoQuestion)));
    }
}
