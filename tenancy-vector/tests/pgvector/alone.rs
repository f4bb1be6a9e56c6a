//! A tenant among others is answered as if it were alone: [`tenancy_testkit::vectors`].

use std::sync::Arc;

use tenancy_testkit::vectors::{Engine, answered_as_if_alone};

use crate::world::World;

/// 480 questions, times `TENANCY_TEST_SCALE`, of other worlds than the embedded engine is asked about.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_among_others_is_answered_as_if_alone() {
    let asked = answered_as_if_alone(1_000_000..1_000_006, Engine::Composed, async |realm, schema| {
        let world = World::new(schema.clone()).await;
        (Arc::new(world.backend(realm).await) as _, Box::new(world) as _)
    });
    println!("{} questions", asked.await);
}
