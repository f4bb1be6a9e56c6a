//! Case C8: many callers of one missing key, one computation.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use tenancy_cache::{CacheError, CacheSettings, Layer, ResponseParts, TenantCaches};
use tenancy_core::{Denial, TenantId, Visibility};
use tenancy_testkit::TestTenants;
use tokio::sync::Notify;

use crate::rig::{Look, World, denied};
use crate::samples;

#[derive(Debug)]
enum Failure {
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
struct Source(Arc<AtomicUsize>);

impl Source {
    async fn slow(self) -> Result<String, Failure> {
        let n = self.0.fetch_add(1, SeqCst);
        tokio::time::sleep(Duration::from_millis(30)).await;
        Ok(format!("answer {n}"))
    }

    async fn failing(self) -> Result<String, Failure> {
        self.0.fetch_add(1, SeqCst);
        tokio::time::sleep(Duration::from_millis(1)).await;
        Err(Failure::Upstream)
    }

    fn computed(&self) -> usize {
        self.0.load(SeqCst)
    }
}

fn ask(mine: &TenantCaches, source: &Source) -> tokio::task::JoinHandle<Result<String, Failure>> {
    let (mine, source) = (mine.clone(), source.clone());
    tokio::spawn(async move { mine.response().get_or_try_compute(&samples::response(), || source.slow()).await })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_callers_of_one_key_compute_once() {
    let world = World::new().await;
    let mine = world.of("acme").await;
    let source = Source::default();
    let callers: Vec<_> = (0..1000).map(|_| ask(&mine, &source)).collect();
    for caller in callers {
        assert_eq!(caller.await.unwrap().unwrap(), "answer 0");
    }
    assert_eq!(source.computed(), 1);
}

/// On one thread, so that who has missed has joined too.
#[tokio::test]
async fn those_who_wait_get_the_value_even_when_it_can_t_be_kept() {
    let world = World::new().await;
    let mine = world.of("acme").await;
    world.rig.put_fails.store(true, SeqCst);
    let computed = Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = (0..200)
        .map(|_| {
            let (mine, caches, computed) = (mine.clone(), world.caches.clone(), Arc::clone(&computed));
            tokio::spawn(async move {
                let compute = || async {
                    computed.fetch_add(1, SeqCst);
                    while caches.stats().of(Layer::Response).misses < 200 {
                        tokio::task::yield_now().await;
                    }
                    Ok::<_, CacheError>("answer".to_owned())
                };
                mine.response().get_or_try_compute(&samples::response(), compute).await
            })
        })
        .collect();
    for caller in callers {
        assert_eq!(caller.await.unwrap().unwrap(), "answer");
    }
    assert_eq!(computed.load(SeqCst), 1);
}

/// The clock's step is longer than what the directory said lasts: whoever has the turn takes long to put the value.
#[tokio::test]
async fn those_who_wait_longer_than_the_fence_get_the_value_unless_the_tenant_was_stopped() {
    for stopped in [false, true] {
        let tenants = TestTenants::builder().clock().build().await;
        let world = World::over(tenants, Arc::default(), CacheSettings::new().patience(Duration::from_secs(10)));
        let layer = world.of("acme").await.response::<String>();
        let parts = samples::response();
        let computed = Notify::new();
        let compute = || async {
            while world.caches.stats().of(Layer::Response).misses < 2 {
                tokio::task::yield_now().await;
            }
            world.rig.pauses.store(100, SeqCst);
            computed.notify_one();
            Ok::<_, CacheError>("answer".to_owned())
        };
        let time_passes = async {
            computed.notified().await;
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            if stopped {
                world.tenants.directory().suspend(&TenantId::parse("acme").unwrap()).unwrap();
            }
            world.tenants.clock().advance(Duration::from_secs(6));
        };
        let again = || async { panic!("computed twice") };
        let (first, second, ()) = tokio::join!(
            layer.get_or_try_compute(&parts, compute),
            layer.get_or_try_compute(&parts, again),
            time_passes,
        );
        assert_eq!(first.unwrap(), "answer");
        match second {
            Ok(got) => assert_eq!((got.as_str(), stopped), ("answer", false)),
            Err(error) => assert_eq!((denied(&error), stopped), (Denial::TenantSuspended, true)),
        }
        let refused: &[&str] = if stopped { &["tenant.suspended"] } else { &[] };
        assert_eq!(world.tenants.denied_rules().await, refused);
    }
}

#[tokio::test]
async fn different_tenants_and_visibilities_compute_for_themselves() {
    let world = World::new().await;
    let source = Source::default();
    let private = ResponseParts { visibility: Visibility::Subject, ..samples::response() };
    let (ann, bob) = (world.of_user("acme", "ann", &["editor"]).await, world.of_user("acme", "bob", &["editor"]).await);
    let (ann, bob) = (ann.response(), bob.response());
    let theirs = world.of("globex").await.response();
    let (a, b, c) = tokio::join!(
        ann.get_or_try_compute(&private, || source.clone().slow()),
        bob.get_or_try_compute(&private, || source.clone().slow()),
        theirs.get_or_try_compute(&private, || source.clone().slow()),
    );
    let all = std::collections::HashSet::from([a.unwrap(), b.unwrap(), c.unwrap()]);
    assert_eq!((all.len(), source.computed()), (3, 3), "nobody got another one's answer");
}

#[tokio::test]
async fn when_the_first_is_dropped_the_next_takes_over() {
    let world = World::new().await;
    let mine = world.of("acme").await;
    let (started, source) = (Arc::new(Notify::new()), Source::default());
    let first = tokio::spawn({
        let (mine, started) = (mine.clone(), Arc::clone(&started));
        async move {
            let compute = || async move {
                started.notify_one();
                std::future::pending::<Result<String, CacheError>>().await
            };
            mine.response().get_or_try_compute(&samples::response(), compute).await
        }
    });
    started.notified().await;
    let others: Vec<_> = (0..50).map(|_| ask(&mine, &source)).collect();
    while world.caches.stats().of(Layer::Response).misses < 51 {
        tokio::task::yield_now().await;
    }
    assert_eq!(source.computed(), 0, "they wait");
    first.abort();
    for other in others {
        assert_eq!(other.await.unwrap().unwrap(), "answer 0");
    }
    assert_eq!(source.computed(), 1, "and one of them took over");
}

#[tokio::test]
async fn an_error_goes_to_its_own_caller_and_is_not_kept() {
    let world = World::new().await;
    let mine = world.of("acme").await;
    let (bad, good) = (Source::default(), Source::default());
    let layer = mine.response();
    let parts = samples::response();
    let (a, b, c) = tokio::join!(
        layer.get_or_try_compute(&parts, || bad.clone().failing()),
        layer.get_or_try_compute(&parts, || bad.clone().failing()),
        layer.get_or_try_compute(&parts, || good.clone().slow()),
    );
    assert!(matches!((a, b), (Err(Failure::Upstream), Err(Failure::Upstream))));
    assert_eq!(c.unwrap(), "answer 0");
    assert_eq!((bad.computed(), good.computed()), (2, 1));
    assert_eq!(layer.hit(&parts).await.as_deref(), Some("answer 0"));
}

#[tokio::test]
async fn a_panic_in_a_computation_stops_nobody_else() {
    let world = World::new().await;
    let mine = world.of("acme").await;
    let layer = mine.response::<String>();
    let panicking = tokio::spawn(async move {
        let compute = || async { if true { panic!("a bug") } else { Ok::<_, CacheError>(String::new()) } };
        layer.get_or_try_compute(&samples::response(), compute).await
    });
    assert!(panicking.await.is_err());
    assert_eq!(ask(&mine, &Source::default()).await.unwrap().unwrap(), "answer 0");
}

/// Who asks after an invalidation is not given what was computed before it, though others still wait for that.
#[tokio::test]
async fn an_invalidation_parts_those_before_from_those_after() {
    let world = World::new().await;
    let mine = world.of("acme").await;
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let old = tokio::spawn({
        let (mine, started, go) = (mine.clone(), Arc::clone(&started), Arc::clone(&go));
        async move {
            let compute = || async move {
                started.notify_one();
                go.notified().await;
                Ok::<_, CacheError>("old".to_owned())
            };
            mine.response().get_or_try_compute(&samples::response(), compute).await
        }
    });
    started.notified().await;
    mine.response::<String>().invalidate(&samples::response()).await.unwrap();
    let new = tokio::spawn({
        let mine = mine.clone();
        async move {
            let compute = || async { Ok::<_, CacheError>("new".to_owned()) };
            mine.response().get_or_try_compute(&samples::response(), compute).await
        }
    });
    tokio::time::sleep(Duration::from_millis(5)).await;
    go.notify_one();
    assert_eq!(old.await.unwrap().unwrap(), "old");
    assert_eq!(new.await.unwrap().unwrap(), "new");
    assert_eq!(mine.response().hit(&samples::response()).await.as_deref(), Some("new"), "and only the new one is kept");
}

#[tokio::test]
async fn a_caller_waits_no_longer_than_its_context_lives() {
    let limit = Duration::from_secs(1);
    let tenants = tenancy_testkit::TestTenants::builder().build_with(|ready| ready.max_request(limit)).await;
    let world = World::over(tenants, Arc::default(), tenancy_cache::CacheSettings::new());
    let mine = world.of("acme").await;
    let stuck = tokio::spawn({
        let mine = mine.clone();
        async move {
            let compute = || std::future::pending::<Result<String, CacheError>>();
            mine.response().get_or_try_compute(&samples::response(), compute).await
        }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    let waited = tokio::time::timeout(Duration::from_secs(10), ask(&mine, &Source::default())).await;
    let Err(Failure::Cache(error)) = waited.expect("no longer than that").unwrap() else { panic!("it got a value") };
    assert_eq!(denied(&error), Denial::DeadlinePassed);
    assert!(world.tenants.denied_rules().await.contains(&"deadline.passed".to_owned()));
    stuck.abort();
}

#[tokio::test]
async fn who_is_suspended_while_waiting_gets_nothing() {
    let world = World::new().await;
    let mine = world.of("acme").await;
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let callers: Vec<_> = (0..3)
        .map(|_| {
            let (mine, started, go) = (mine.clone(), Arc::clone(&started), Arc::clone(&go));
            tokio::spawn(async move {
                let compute = || async move {
                    started.notify_one();
                    go.notified().await;
                    Ok::<_, CacheError>("answer".to_owned())
                };
                mine.response().get_or_try_compute(&samples::response(), compute).await
            })
        })
        .collect();
    started.notified().await;
    while world.caches.stats().of(Layer::Response).misses < 3 {
        tokio::task::yield_now().await;
    }
    world.tenants.suspend("acme");
    go.notify_one();
    for caller in callers {
        assert_eq!(denied(&caller.await.unwrap().unwrap_err()), Denial::TenantSuspended);
    }
    assert!(world.rig.puts.lock().unwrap().is_empty(), "and nothing is kept");
}
