//! C8: many callers of one missing key, one computation; and who takes over when it comes to nothing.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use tenancy_cache::{CacheError, Layer, ResponseParts, TenantCaches};
use tenancy_core::{Denial, Visibility};
use tenancy_testkit::TestTenants;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::{House, Place};
use crate::look::Look;
use crate::samples;

#[derive(Debug)]
pub(crate) enum Failure {
    Cache(CacheError),
    Upstream,
}

impl From<CacheError> for Failure {
    fn from(error: CacheError) -> Self {
        Self::Cache(error)
    }
}

/// Counts how often it was computed.
#[derive(Clone, Default)]
pub(crate) struct Source(Arc<AtomicUsize>);

impl Source {
    pub(crate) async fn slow(self) -> Result<String, Failure> {
        let n = self.0.fetch_add(1, SeqCst);
        tokio::time::sleep(Duration::from_millis(30)).await;
        Ok(format!("answer {n}"))
    }

    async fn failing(self) -> Result<String, Failure> {
        self.0.fetch_add(1, SeqCst);
        tokio::time::sleep(Duration::from_millis(1)).await;
        Err(Failure::Upstream)
    }

    pub(crate) fn computed(&self) -> usize {
        self.0.load(SeqCst)
    }
}

pub(crate) fn ask(mine: &TenantCaches, source: &Source) -> JoinHandle<Result<String, Failure>> {
    let (mine, source) = (mine.clone(), source.clone());
    tokio::spawn(async move { mine.response().get_or_try_compute(&samples::response(), || source.slow()).await })
}

/// A caller that computes when it is let go, and says when it has begun.
struct Held {
    caller: JoinHandle<Result<String, CacheError>>,
    go: Arc<Notify>,
}

impl Held {
    async fn begin(mine: &TenantCaches, value: &'static str) -> Self {
        let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let caller = tokio::spawn({
            let (mine, started, go) = (mine.clone(), Arc::clone(&started), Arc::clone(&go));
            async move {
                let compute = || async move {
                    started.notify_one();
                    go.notified().await;
                    Ok(value.to_owned())
                };
                mine.response().get_or_try_compute(&samples::response(), compute).await
            }
        });
        started.notified().await;
        Self { caller, go }
    }

    async fn end(self) -> Result<String, CacheError> {
        self.go.notify_one();
        self.caller.await.unwrap()
    }
}

impl House {
    async fn has_missed(&self, times: u64) {
        while self.caches.stats().of(Layer::Response).misses < times {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

pub(crate) async fn c8(place: &impl Place) {
    a_thousand_at_once(place).await;
    two_tenants_and_two_subjects_at_once(place).await;
    two_processes_at_once(place).await;
    the_first_is_dropped(place).await;
    one_that_waits_is_dropped(place).await;
    it_fails_for_some(place).await;
    it_panics(place).await;
    a_removal_comes_in_between(place).await;
    it_takes_longer_than_a_caller_lives(place).await;
    the_tenant_is_suspended_meanwhile(place).await;
}

async fn a_thousand_at_once(place: &impl Place) {
    let house = House::on(place).await;
    let (mine, source) = (house.of("acme").await, Source::default());
    let callers: Vec<_> = (0..1000).map(|_| ask(&mine, &source)).collect();
    for caller in callers {
        assert_eq!(caller.await.unwrap().unwrap(), "answer 0", "{}", house.place);
    }
    assert_eq!(source.computed(), 1, "{}", house.place);
    assert_eq!(mine.response().hit(&samples::response()).await.as_deref(), Some("answer 0"), "{}", house.place);
}

async fn two_tenants_and_two_subjects_at_once(place: &impl Place) {
    let house = House::on(place).await;
    let (acme, globex, source) = (house.of("acme").await, house.of("globex").await, Source::default());
    let callers: Vec<_> = (0..200).map(|_| (ask(&acme, &source), ask(&globex, &source))).collect();
    let mut seen = [HashSet::new(), HashSet::new()];
    for (one, other) in callers {
        seen[0].insert(one.await.unwrap().unwrap());
        seen[1].insert(other.await.unwrap().unwrap());
    }
    assert!(seen[0].len() == 1 && seen[1].len() == 1 && seen[0] != seen[1], "{}: {seen:?}", house.place);
    assert_eq!(source.computed(), 2, "{}", house.place);

    let private = ResponseParts { visibility: Visibility::Subject, ..samples::response() };
    let (ann, bob) = (house.of_user("ann", &["editor"]).await, house.of_user("bob", &["editor"]).await);
    let (ann, bob) = (ann.response(), bob.response());
    let (a, b) = tokio::join!(
        ann.get_or_try_compute(&private, || source.clone().slow()),
        bob.get_or_try_compute(&private, || source.clone().slow()),
    );
    assert_ne!(a.unwrap(), b.unwrap(), "{}: nobody got another one's answer", house.place);
}

/// Each computes for itself, and whoever comes later finds what was kept.
async fn two_processes_at_once(place: &impl Place) {
    let (house, source) = (House::on(place).await, Source::default());
    let here = house.of("acme").await;
    let there = place.process(&house.tenants).scoped(here.context()).unwrap();
    let callers: Vec<_> = (0..100).map(|n| ask(if n % 2 == 0 { &here } else { &there }, &source)).collect();
    for caller in callers {
        assert!(caller.await.unwrap().unwrap().starts_with("answer "), "{}", house.place);
    }
    assert!((1..=2).contains(&source.computed()), "{}: {}", house.place, source.computed());
    let kept = here.response::<String>().hit(&samples::response()).await;
    assert!(kept.is_some() && kept == there.response().hit(&samples::response()).await, "{}", house.place);
}

async fn the_first_is_dropped(place: &impl Place) {
    let house = House::on(place).await;
    let (mine, source) = (house.of("acme").await, Source::default());
    let first = Held::begin(&mine, "never").await;
    let others: Vec<_> = (0..50).map(|_| ask(&mine, &source)).collect();
    house.has_missed(51).await;
    assert_eq!(source.computed(), 0, "{}: they wait", house.place);
    first.caller.abort();
    for other in others {
        assert_eq!(other.await.unwrap().unwrap(), "answer 0", "{}", house.place);
    }
    assert_eq!(source.computed(), 1, "{}: one of them took over", house.place);
}

async fn one_that_waits_is_dropped(place: &impl Place) {
    let house = House::on(place).await;
    let (mine, source) = (house.of("acme").await, Source::default());
    let first = Held::begin(&mine, "held").await;
    let mut others: Vec<_> = (0..20).map(|_| ask(&mine, &source)).collect();
    house.has_missed(21).await;
    for dropped in others.drain(5..15) {
        dropped.abort();
        assert!(dropped.await.unwrap_err().is_cancelled());
    }
    assert_eq!(first.end().await.unwrap(), "held", "{}", house.place);
    for other in others {
        assert_eq!(other.await.unwrap().unwrap(), "held", "{}: those before it and after", house.place);
    }
    assert_eq!(source.computed(), 0, "{}", house.place);
}

async fn it_fails_for_some(place: &impl Place) {
    let house = House::on(place).await;
    let (layer, parts) = (house.of("acme").await.response(), samples::response());
    let (bad, good) = (Source::default(), Source::default());
    let (a, b, c) = tokio::join!(
        layer.get_or_try_compute(&parts, || bad.clone().failing()),
        layer.get_or_try_compute(&parts, || bad.clone().failing()),
        layer.get_or_try_compute(&parts, || good.clone().slow()),
    );
    // In whatever order they got their turns: after a success nobody computes.
    assert_eq!(c.unwrap(), "answer 0", "{}", house.place);
    let failed = [a, b].into_iter().filter(|outcome| match outcome {
        Err(Failure::Upstream) => true,
        Ok(value) => value != "answer 0",
        Err(Failure::Cache(error)) => panic!("{error:?}"),
    });
    assert_eq!((failed.count(), good.computed()), (bad.computed(), 1), "{}: each to its own caller", house.place);
    assert_eq!(layer.hit(&parts).await.as_deref(), Some("answer 0"), "{}: no error is kept", house.place);
}

async fn it_panics(place: &impl Place) {
    let house = House::on(place).await;
    let mine = house.of("acme").await;
    let panicking = tokio::spawn({
        let layer = mine.response::<String>();
        async move {
            let compute = || async { if true { panic!("a bug") } else { Ok::<_, CacheError>(String::new()) } };
            layer.get_or_try_compute(&samples::response(), compute).await
        }
    });
    assert!(panicking.await.unwrap_err().is_panic());
    assert_eq!(ask(&mine, &Source::default()).await.unwrap().unwrap(), "answer 0", "{}", house.place);
}

/// Who asks after a removal, or a flush, is not given what was computed before it, though others still wait for that.
async fn a_removal_comes_in_between(place: &impl Place) {
    for all in [false, true] {
        let house = House::on(place).await;
        let mine = house.of("acme").await;
        let old = Held::begin(&mine, "old").await;
        if all {
            mine.flush().await.unwrap();
        } else {
            mine.response::<String>().invalidate(&samples::response()).await.unwrap();
        }
        let new = tokio::spawn({
            let mine = mine.clone();
            async move {
                let compute = || async { Ok::<_, CacheError>("new".to_owned()) };
                mine.response().get_or_try_compute(&samples::response(), compute).await
            }
        });
        house.has_missed(2).await;
        assert_eq!(old.end().await.unwrap(), "old", "{}, {all}", house.place);
        assert_eq!(new.await.unwrap().unwrap(), "new", "{}, {all}", house.place);
        let kept = mine.response::<String>().hit(&samples::response()).await;
        assert_eq!(kept.as_deref(), Some("new"), "{}, {all}: only the new one is kept", house.place);
    }
}

async fn it_takes_longer_than_a_caller_lives(place: &impl Place) {
    let limit = Duration::from_secs(1);
    let tenants = TestTenants::builder().build_with(|ready| ready.max_request(limit)).await;
    let house = House::with(place, tenants);
    let first = Held::begin(&house.of("acme").await, "never").await;
    let (late, source) = (house.of("acme").await, Source::default());
    let waited = tokio::time::timeout(Duration::from_secs(20), ask(&late, &source)).await;
    let Err(Failure::Cache(CacheError::Denied(denial))) = waited.unwrap().unwrap() else { panic!("it got a value") };
    assert_eq!((denial, source.computed()), (Denial::DeadlinePassed, 0), "{}", house.place);
    first.caller.abort();
    let fresh = house.of("acme").await;
    assert_eq!(ask(&fresh, &source).await.unwrap().unwrap(), "answer 0", "{}: the next takes over", house.place);
}

async fn the_tenant_is_suspended_meanwhile(place: &impl Place) {
    let (house, source) = (House::on(place).await, Source::default());
    let (mine, neighbour) = (house.of("acme").await, house.of("globex").await);
    let first = Held::begin(&mine, "answer").await;
    let others: Vec<_> = (0..3).map(|_| ask(&mine, &source)).collect();
    house.has_missed(4).await;
    house.tenants.suspend("acme");
    let refused = first.end().await;
    assert!(matches!(refused, Err(CacheError::Denied(Denial::TenantSuspended))), "{}: {refused:?}", house.place);
    for other in others {
        let refused = other.await.unwrap();
        let is_refused = matches!(refused, Err(Failure::Cache(CacheError::Denied(Denial::TenantSuspended))));
        assert!(is_refused, "{}: {refused:?}", house.place);
    }
    assert_eq!(ask(&neighbour, &Source::default()).await.unwrap().unwrap(), "answer 0", "{}: alone", house.place);
}
