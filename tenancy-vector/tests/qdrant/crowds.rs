//! Many tenants with the same words in one collection.

use tenancy_testkit::TestTenants;

use crate::{Layout, Wire, crowded, tenants};

#[tokio::test(flavor = "multi_thread")]
async fn ordinary_questions_bring_up_ones_own() {
    for layout in Layout::ALL {
        let (wire, tenants) = (Wire::start(layout).await, tenants().await);
        let store = wire.store(&tenants, crowded::schema()).await;
        crowded::ordinary_questions_bring_up_ones_own(&tenants, &store).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scores_do_not_move() {
    for layout in Layout::ALL {
        let (wire, tenants) = (Wire::start(layout).await, tenants().await);
        let store = wire.store(&tenants, crowded::schema()).await;
        crowded::scores_do_not_move(&tenants, &store, 1000 * crate::scale()).await;
    }
}

/// V11.
#[tokio::test(flavor = "multi_thread")]
async fn v11_a_hundred_tenants_thin_out_nothing() {
    let names: Vec<_> = (0..100 * crate::scale().min(10)).map(|n| format!("tenant-{n}")).collect();
    let tenants = names.iter().fold(TestTenants::builder(), |builder, name| builder.tenant(name)).build().await;
    let wire = Wire::start(Layout::Shared).await;
    let store = wire.store(&tenants, crowded::schema()).await;
    crowded::neighbours_thin_out_nothing(&tenants, &store, &names).await;
}
