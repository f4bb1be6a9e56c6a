//! Memory before a back end that processes share.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use tenancy_cache::{
    CacheSettings, Caches, Layer, Lookup, MemoryBackend, ResponseParts, TenantLayer, TwoLevel, conformance,
};
use tenancy_testkit::TestTenants;

use crate::rig::{Look, Rig};
use crate::samples;

/// Two processes on one store.
struct Processes {
    tenants: TestTenants,
    store: Arc<Rig>,
    here: Caches,
    there: Caches,
}

impl Processes {
    async fn new(moment: Duration) -> Self {
        let (tenants, store) = (TestTenants::new().await, Arc::<Rig>::default());
        store.lazy.store(true, SeqCst);
        let settings = CacheSettings::new().patience(Duration::from_secs(10));
        let process = || {
            let backend = TwoLevel::new(MemoryBackend::new(), Arc::clone(&store), moment);
            Caches::with_settings(tenants.realm(), backend, settings.clone())
        };
        let (here, there) = (process(), process());
        Self { tenants, store, here, there }
    }

    async fn of(&self, caches: &Caches, tenant: &str) -> TenantLayer<ResponseParts, String> {
        caches.scoped(&self.tenants.context(tenant).await).unwrap().response()
    }
}

const MOMENT: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn it_conforms() {
    for moment in [Duration::ZERO, MOMENT, Duration::from_secs(3600)] {
        conformance::all(&TwoLevel::new(MemoryBackend::new(), MemoryBackend::new(), moment)).await;
    }
    let shared = Arc::new(MemoryBackend::new());
    let process = || TwoLevel::new(MemoryBackend::new(), Arc::clone(&shared), Duration::ZERO);
    conformance::all(&process()).await;
}

#[tokio::test]
async fn for_a_moment_the_shared_store_is_not_asked() {
    let processes = Processes::new(MOMENT).await;
    let parts = samples::response();
    let (acme, globex) = (processes.of(&processes.here, "acme").await, processes.of(&processes.here, "globex").await);
    acme.fill(&parts, "acme's").await;
    assert_eq!(acme.hit(&parts).await.as_deref(), Some("acme's"), "from the store");
    processes.store.down.store(true, SeqCst);
    for _ in 0..3 {
        assert_eq!(acme.hit(&parts).await.as_deref(), Some("acme's"), "from memory");
    }
    assert!(matches!(globex.lookup(&parts).await.unwrap(), Lookup::Bypass(_)), "another tenant's is not");
    tokio::time::sleep(MOMENT + Duration::from_millis(100)).await;
    assert!(matches!(acme.lookup(&parts).await.unwrap(), Lookup::Bypass(_)), "the moment is over");
}

#[tokio::test]
async fn without_a_moment_every_look_asks_the_store() {
    let processes = Processes::new(Duration::ZERO).await;
    let (here, parts) = (processes.of(&processes.here, "acme").await, samples::response());
    here.fill(&parts, "kept").await;
    assert_eq!(here.hit(&parts).await.as_deref(), Some("kept"));
    processes.store.down.store(true, SeqCst);
    assert!(matches!(here.lookup(&parts).await.unwrap(), Lookup::Bypass(_)));
}

#[tokio::test]
async fn what_this_process_removes_flushes_or_replaces_it_does_not_find() {
    let processes = Processes::new(MOMENT).await;
    let (here, parts) = (processes.of(&processes.here, "acme").await, samples::response());
    here.fill(&parts, "first").await;
    assert_eq!(here.hit(&parts).await.as_deref(), Some("first"));
    here.invalidate(&parts).await.unwrap();
    let slot = here.slot(&parts).await;

    let other = here.slot(&parts).await;
    slot.put(&"second".to_owned()).await.unwrap();
    assert_eq!(here.hit(&parts).await.as_deref(), Some("second"));
    other.put(&"third".to_owned()).await.unwrap();
    assert_eq!(here.hit(&parts).await.as_deref(), Some("third"), "what was replaced is not given from memory");

    processes.here.scoped(&processes.tenants.context("acme").await).unwrap().flush().await.unwrap();
    assert_eq!(here.hit(&parts).await, None);
    assert_eq!(processes.here.stats().of(Layer::Response).integrity_misses, 0);
}

#[tokio::test]
async fn what_another_process_removes_is_found_for_a_moment_and_no_longer() {
    for flush in [false, true] {
        let processes = Processes::new(MOMENT).await;
        let parts = samples::response();
        let (here, there) = (processes.of(&processes.here, "acme").await, processes.of(&processes.there, "acme").await);
        here.fill(&parts, "kept").await;
        assert_eq!(here.hit(&parts).await.as_deref(), Some("kept"));
        match flush {
            true => processes.there.scoped(&processes.tenants.context("acme").await).unwrap().flush().await.unwrap(),
            false => there.invalidate(&parts).await.unwrap(),
        }
        assert_eq!(there.hit(&parts).await, None);
        tokio::time::sleep(MOMENT + Duration::from_millis(100)).await;
        assert_eq!(here.hit(&parts).await, None, "flush: {flush}");
        assert_eq!(processes.here.stats().of(Layer::Response).integrity_misses, 0);
    }
}

/// A look has seen what is there when it is removed, or flushed, and says so afterwards.
#[tokio::test]
async fn a_look_under_way_brings_nothing_back() {
    for flush in [false, true] {
        let processes = Processes::new(MOMENT).await;
        let (here, parts) = (processes.of(&processes.here, "acme").await, samples::response());
        here.fill(&parts, "old").await;
        let hold = processes.store.hold();
        let look = {
            let (here, parts) = (here.clone(), parts.clone());
            tokio::spawn(async move { here.lookup(&parts).await.map(drop) })
        };
        hold.has_seen.notified().await;
        match flush {
            true => processes.here.scoped(&processes.tenants.context("acme").await).unwrap().flush().await.unwrap(),
            false => here.invalidate(&parts).await.unwrap(),
        }
        assert_eq!(here.hit(&parts).await, None, "flush: {flush}");
        hold.go_on.notify_one();
        look.await.unwrap().unwrap();
        assert_eq!(here.hit(&parts).await, None, "flush: {flush}, when the look is over");
    }
}

#[tokio::test]
async fn a_removal_that_fails_leaves_the_layer_standing_aside_whatever_is_in_memory() {
    let processes = Processes::new(MOMENT).await;
    let (here, parts) = (processes.of(&processes.here, "acme").await, samples::response());
    here.fill(&parts, "kept").await;
    assert_eq!(here.hit(&parts).await.as_deref(), Some("kept"));
    processes.store.remove_fails.store(true, SeqCst);
    here.invalidate(&parts).await.unwrap_err();
    assert!(matches!(here.lookup(&parts).await.unwrap(), Lookup::Bypass(_)));
    processes.store.remove_fails.store(false, SeqCst);
    here.invalidate(&parts).await.unwrap();
    assert_eq!(here.hit(&parts).await, None);
}
