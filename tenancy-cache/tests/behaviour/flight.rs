//! Case C8 on a back end that does as a test says, beside what every back end is tried with.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use tenancy_cache::{CacheError, CacheSettings, Layer};
use tenancy_core::{Denial, TenantId};
use tenancy_testkit::TestTenants;
use tokio::sync::Notify;

use crate::cases::c8::{Failure, Source, ask};
use crate::rig::{World, denied};
use crate::samples;

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
