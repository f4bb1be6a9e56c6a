//! The cases that every back end is tried with, in memory.

use std::sync::Arc;
use std::time::Duration;

use tenancy_cache::{CacheSettings, Caches, MemoryBackend};
use tenancy_testkit::TestTenants;

use crate::cases::{self, Place};

#[derive(Default)]
struct Memory(Arc<MemoryBackend>);

impl Place for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn process(&self, tenants: &TestTenants) -> Caches {
        let settings = CacheSettings::new().patience(Duration::from_secs(10));
        Caches::with_settings(tenants.realm(), Arc::clone(&self.0), settings)
    }
}

#[tokio::test]
async fn c1_in_memory() {
    cases::c1(&Memory::default()).await;
}

#[tokio::test]
async fn c3_in_memory() {
    cases::c3(&Memory::default()).await;
}

#[tokio::test]
async fn c6_in_memory() {
    cases::c6(&Memory::default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c8_in_memory() {
    cases::c8(&Memory::default()).await;
}
