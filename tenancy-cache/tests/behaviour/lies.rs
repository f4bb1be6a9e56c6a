//! A back end that lies: whatever it answers, no value is given out that was not kept for this very question.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use tenancy_cache::{Bypass, CacheSettings, Caches, Layer, Lookup, ResponseParts};
use tenancy_core::Visibility;
use tenancy_testkit::TestTenants;

use crate::rig::{Look, World};
use crate::samples;

/// Where the life stands in what is kept: after the epoch, the realm and the version.
const LIFE: std::ops::Range<usize> = 33..49;

#[tokio::test]
async fn an_answer_to_another_question_is_a_miss() {
    let world = World::over(
        TestTenants::builder().clock().build().await,
        Arc::default(),
        CacheSettings::new().patience(Duration::from_secs(10)),
    );
    let (a, b) = (world.of("acme").await, world.of("globex").await);
    let parts = samples::response();

    // What the back end has to lie with.
    a.response().fill(&parts, "the truth").await;
    let truth = world.rig.last_put().1;
    let lies = {
        let put = || world.rig.last_put().1;
        a.response().fill(&ResponseParts { endpoint: "other".into(), ..parts.clone() }, "another question's").await;
        let other_question = put();
        a.response().fill(&ResponseParts { visibility: Visibility::Subject, ..parts.clone() }, "a private one").await;
        let other_eyes = put();
        a.retrieval().fill(&samples::retrieval(), "another layer's").await;
        let other_layer = put();
        b.response().fill(&parts, "globex's").await;
        let other_tenant = put();
        let elsewhere = TestTenants::new().await;
        let theirs = Caches::new(elsewhere.realm(), Arc::clone(&world.rig));
        theirs.scoped(&elsewhere.context("acme").await).unwrap().response().fill(&parts, "another realm's").await;
        let other_realm = put();
        let flip = |at: usize| {
            let mut bytes = truth.clone();
            bytes[at] ^= 1;
            bytes
        };
        let mut swapped_life = truth.clone();
        swapped_life[LIFE].copy_from_slice(&other_tenant[LIFE]);
        let mut claimed_life = other_tenant.clone();
        claimed_life[LIFE].copy_from_slice(&truth[LIFE]);
        [
            ("the place: another question", other_question, "seal.refused"),
            ("the place: other eyes", other_eyes, "seal.refused"),
            ("the place: another layer", other_layer, "seal.refused"),
            ("the life in the header", other_tenant, "scope.wrong_life"),
            ("the life in the header, of our own value", swapped_life, "scope.wrong_life"),
            ("the key: another tenant's value that claims our life", claimed_life, "seal.key_unknown"),
            ("the realm in the header", other_realm, "scope.foreign_realm"),
            ("the form: nothing", vec![], "seal.malformed"),
            ("the form: cut in the header", truth[..56].to_vec(), "seal.malformed"),
            ("the form: cut in the epoch", truth[..15].to_vec(), "seal.malformed"),
            ("the place: an epoch that is not the value's", flip(0), "seal.refused"),
            ("the tag: cut by one", truth[..truth.len() - 1].to_vec(), "seal.refused"),
            ("the tag: one too many", [&truth[..], &[0]].concat(), "seal.refused"),
            ("the tag: a bit of the text", flip(truth.len() - 1), "seal.refused"),
            ("the tag: a bit of the nonce", flip(76), "seal.refused"),
            ("the header: a bit of the expiry", flip(59), "seal.refused"),
            ("the header: a bit of the schema", flip(57), "seal.refused"),
            ("plain JSON", br#""plain""#.to_vec(), "seal.malformed"),
        ]
    };
    for (n, (mechanism, lie, rule)) in (1..).zip(lies) {
        world.rig.lie(lie);
        let found = a.response::<String>().hit(&parts).await;
        assert_eq!(found, None, "{mechanism}");
        assert_eq!(world.caches.stats().of(Layer::Response).integrity_misses, n, "{mechanism}: counted");
        let log = world.tenants.audit().await;
        let last = log.iter().rfind(|record| record.rule().is_some()).unwrap();
        assert_eq!(
            (last.rule(), last.life()),
            (Some(rule), Some(world.tenants.life("acme"))),
            "{mechanism}: on record"
        );
    }

    // The truth, told again, is a hit; told too late, it is not.
    world.rig.lie(truth);
    assert_eq!(a.response().hit(&parts).await.as_deref(), Some("the truth"));
    world.tenants.clock().advance(Duration::from_secs(3605));
    let later = world.of("acme").await;
    world.rig.lie.lock().unwrap().as_ref().expect("still lying");
    assert_eq!(later.response::<String>().hit(&parts).await, None, "kept past its time");
    assert!(world.tenants.denied_rules().await.contains(&"seal.expired".to_owned()));
}

/// What was flushed and is still there is no lie: nothing is counted or on record, and it is not found.
#[tokio::test]
async fn a_value_of_an_older_epoch_is_a_miss_and_no_lie() {
    let world = World::new().await;
    let mine = world.of("acme").await;
    let parts = samples::response();
    mine.response().fill(&parts, "old").await;
    let old = world.rig.last_put().1;
    mine.flush().await.unwrap();
    for (mechanism, kept) in [("one that was", old.clone()), ("and again", old)] {
        world.rig.lie(kept);
        assert_eq!(mine.response::<String>().hit(&parts).await, None, "{mechanism}");
    }
    let counted = world.caches.stats().of(Layer::Response);
    assert_eq!((counted.integrity_misses, counted.misses), (0, 3));
    assert!(world.tenants.denied_rules().await.is_empty());
}

#[tokio::test]
async fn a_lie_does_not_keep_the_right_value_from_being_computed_and_kept() {
    let world = World::new().await;
    let mine = world.of("acme").await;
    world.rig.lie(vec![0; 100]);
    let compute = || async { Ok::<_, tenancy_cache::CacheError>("computed".to_owned()) };
    let got = mine.response().get_or_try_compute(&samples::response(), compute).await.unwrap();
    assert_eq!(got, "computed");
    world.rig.lie(None);
    assert_eq!(mine.response().hit(&samples::response()).await.as_deref(), Some("computed"));
}

#[tokio::test]
async fn a_back_end_that_does_not_answer_is_a_bypass() {
    for (mechanism, down) in [("it fails", true), ("it hangs", false)] {
        let settings = CacheSettings::new().patience(Duration::from_millis(if down { 10_000 } else { 300 }));
        let world = World::over(TestTenants::new().await, Arc::default(), settings);
        let mine = world.of("acme").await;
        mine.response().fill(&samples::response(), "kept").await;
        let slot = mine.embedding::<String>().slot(&samples::embedding()).await;
        let switch = if down { &world.rig.down } else { &world.rig.hangs };

        switch.store(true, SeqCst);
        let layer = mine.response::<String>();
        let look = tokio::time::timeout(Duration::from_secs(10), layer.lookup(&samples::response())).await;
        let look = look.expect("patience has an end").unwrap();
        assert!(matches!(look, Lookup::Bypass(Bypass::Backend)), "{mechanism}: {look:?}");
        let put = slot.put(&"v".to_owned()).await.unwrap();
        assert_eq!(put, tenancy_cache::Put::Skipped(Bypass::Backend), "{mechanism}");
        let compute = || async { Ok::<_, tenancy_cache::CacheError>("computed".to_owned()) };
        let got = mine.response().get_or_try_compute(&samples::response(), compute).await.unwrap();
        assert_eq!(got, "computed", "{mechanism}");
        assert_eq!(world.caches.stats().of(Layer::Response).bypasses, 2, "{mechanism}");

        switch.store(false, SeqCst);
        assert_eq!(
            mine.response().hit(&samples::response()).await.as_deref(),
            Some("kept"),
            "{mechanism}: it recovers"
        );
    }
}

/// A put that fails is no reason to fail.
#[tokio::test]
async fn a_value_that_can_t_be_kept_is_given_out_all_the_same() {
    let world = World::new().await;
    let mine = world.of("acme").await;
    world.rig.put_fails.store(true, SeqCst);
    for n in 0..2 {
        let compute = || async move { Ok::<_, tenancy_cache::CacheError>(n) };
        assert_eq!(mine.response().get_or_try_compute(&samples::response(), compute).await.unwrap(), n);
    }
}
