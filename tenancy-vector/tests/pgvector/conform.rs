//! What every back end must do.

use std::sync::Arc;

use tenancy_testkit::TestTenants;
use tenancy_vector::{Schema, VectorBackend, conformance};

use crate::world::World;

/// All of [`conformance::run`], each check by itself: on a busy machine one may take longer than what is known about a
/// tenant that nobody asks for is good for.
#[tokio::test(flavor = "multi_thread")]
async fn the_back_end_conforms() {
    let tenants = TestTenants::new().await;
    let world = World::new(Schema::hybrid(8).unwrap()).await;
    let (realm, backend): (_, Arc<dyn VectorBackend>) =
        (tenants.realm(), Arc::new(world.backend(tenants.realm()).await));
    let (one, two) = (|| tenants.context("acme"), || tenants.context("globex"));
    conformance::empty_partitions(realm, &backend, &one().await).await.unwrap();
    conformance::ranking(realm, &backend, &one().await).await.unwrap();
    conformance::separation(realm, &backend, &one().await, &two().await).await.unwrap();
    conformance::replacing(realm, &backend, &one().await).await.unwrap();
    conformance::engine_ids(realm, &backend, &one().await).await.unwrap();
    conformance::life_condition(realm, &backend, &one().await, &two().await).await.unwrap();
    conformance::dropping(realm, &backend, &one().await, &two().await).await.unwrap();
}
