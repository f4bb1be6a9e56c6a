//! A tenant among others is answered as if it were alone, in each layout: [`tenancy_testkit::vectors`].

use std::sync::Arc;

use tenancy_testkit::vectors::{Engine, answered_as_if_alone};

use crate::{Layout, Wire};

/// 720 questions, times `TENANCY_TEST_SCALE`.
async fn ask(layout: Layout, first: u64) {
    let asked = answered_as_if_alone(first..first + 9, Engine::Server, async |_realm, schema| {
        let wire = Wire::start(layout).await;
        let backend = wire.connect(wire.options(), schema).await;
        (Arc::new(backend) as _, Box::new(wire) as _)
    });
    println!("{layout:?}: {} questions", asked.await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_shared_collection_a_tenant_is_answered_as_if_alone() {
    ask(Layout::Shared, 2_000_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_collections_a_tenant_is_answered_as_if_alone() {
    ask(Layout::Collections, 3_000_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_shard_keys_a_tenant_is_answered_as_if_alone() {
    ask(Layout::ShardKeys, 4_000_000).await;
}
