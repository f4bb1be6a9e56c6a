use tenancy_core::StoreVerdict;
use uuid::Uuid;

use super::*;
use crate::backend::LifeTag;
use crate::conformance;
use crate::layer::Layer;

struct Life(LifeTag);

impl Life {
    fn new() -> Self {
        Self(LifeTag::of_bytes(Uuid::new_v4().as_bytes(), Uuid::new_v4().as_bytes()))
    }

    fn scope(&self) -> CacheScope<'_> {
        CacheScope::conformance(&self.0)
    }

    fn key(&self, n: u32) -> StoreKey {
        let mut digest = [0; 32];
        digest[..4].copy_from_slice(&n.to_le_bytes());
        self.0.key_of(Layer::Response, &digest)
    }

    async fn fill(&self, backend: &MemoryBackend, entries: u32, bytes: usize) {
        backend.epoch(&self.scope()).await.unwrap();
        for n in 0..entries {
            backend.put(&self.scope(), &self.key(n), vec![1; bytes], Duration::from_secs(60)).await.unwrap();
        }
    }

    async fn found(&self, backend: &MemoryBackend, entries: u32) -> u32 {
        let mut found = 0;
        for n in 0..entries {
            found += u32::from(backend.get(&self.scope(), &self.key(n)).await.unwrap().into_bytes().is_some());
        }
        found
    }
}

#[tokio::test]
async fn conforms() {
    conformance::all(&MemoryBackend::new()).await;
    conformance::all(&Arc::new(MemoryBackend::new())).await;
}

#[tokio::test]
async fn one_tenant_drives_out_only_its_own_entries() {
    let backend = MemoryBackend::with_budget(100_000, 8);
    let (quiet, loud) = (Life::new(), Life::new());
    quiet.fill(&backend, 50, 1000).await;
    loud.fill(&backend, 5000, 1000).await;
    assert_eq!(quiet.found(&backend, 50).await, 50, "the quiet tenant keeps all it had");

    let entries = backend.partition(&loud.scope()).unwrap();
    entries.run_pending_tasks().await;
    assert!(entries.weighted_size() <= 100_000, "the loud one keeps to its budget");
    let kept = loud.found(&backend, 5000).await;
    assert!((1..=100).contains(&kept), "and has its own entries in it: {kept}");
}

#[tokio::test]
async fn a_value_beyond_the_budget_is_not_kept() {
    let backend = MemoryBackend::with_budget(10_000, 8);
    let life = Life::new();
    life.fill(&backend, 1, 20_000).await;
    let entries = backend.partition(&life.scope()).unwrap();
    entries.run_pending_tasks().await;
    assert_eq!(life.found(&backend, 1).await, 0);
}

#[tokio::test]
async fn one_life_too_many_drives_out_the_one_longest_not_asked() {
    let backend = MemoryBackend::with_budget(100_000, 2);
    let (first, second, third) = (Life::new(), Life::new(), Life::new());
    first.fill(&backend, 1, 10).await;
    second.fill(&backend, 1, 10).await;
    assert_eq!(first.found(&backend, 1).await, 1, "asked again");
    third.fill(&backend, 1, 10).await;
    // The one that is looked for and not there gets a place again, so it comes last.
    let kept = [first.found(&backend, 1).await, third.found(&backend, 1).await, second.found(&backend, 1).await];
    assert_eq!(kept, [1, 1, 0]);
}

#[tokio::test]
async fn forgetting_does_not_wait_for_the_memory() {
    let backend = MemoryBackend::with_budget(1 << 30, 8);
    let (small, large) = (Life::new(), Life::new());
    small.fill(&backend, 10, 10).await;
    large.fill(&backend, 50_000, 10).await;
    // Held here, the partition can't be freed: what `forget` does does not hang on that.
    let held = backend.partition(&large.scope()).unwrap();
    backend.forget(&large.scope()).await.unwrap();
    assert!(held.get(&large.key(1)).await.is_some(), "the memory is still there");
    assert_eq!(backend.left(&large.scope()).await.unwrap(), StoreVerdict::Verified);
    assert_eq!(large.found(&backend, 10).await, 0);
    assert_eq!(small.found(&backend, 10).await, 10);
}

#[test]
fn nothing_of_a_tenant_is_shown() {
    let life = Life::new();
    let shown = format!("{:?} {:?} {:?}", MemoryBackend::new(), life.scope(), life.key(7));
    assert!(!shown.contains(life.scope().tag()), "{shown}");
    assert!(!shown.contains("07000000"), "{shown}");
}
