//! What every back end must do.

use std::sync::Arc;

use tenancy_testkit::TestTenants;
use tenancy_vector::VectorBackend;
use tenancy_vector::conformance::{self, Check};

use crate::world::World;

/// All of [`conformance::run`], each check by itself: on a busy machine one may take longer than what is known about a
/// tenant that nobody asks for is good for.
#[tokio::test(flavor = "multi_thread")]
async fn the_back_end_conforms() {
    let tenants = TestTenants::new().await;
    let world = World::new(conformance::schema().unwrap()).await;
    let (realm, backend): (_, Arc<dyn VectorBackend>) =
        (tenants.realm(), Arc::new(world.backend(tenants.realm()).await));
    let (one, two) = (|| tenants.context("acme"), || tenants.context("globex"));
    for check in Check::ALL {
        check.run(realm, &backend, &one().await, &two().await).await.unwrap();
    }
}
