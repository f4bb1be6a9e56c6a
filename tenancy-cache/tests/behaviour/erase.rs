//! Erasing a tenant: everything of its life goes, nothing of another one's.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use tenancy_cache::Caches;
use tenancy_core::{Credential, Denial, Reach, StoreVerdict, TenantId};
use tenancy_testkit::TestTenants;

use crate::rig::{Look, World};
use crate::samples;

#[tokio::test]
async fn an_erased_life_is_gone_from_the_caches() {
    let world = World::new().await;
    let (mine, theirs) = (world.of("acme").await, world.of("globex").await);
    mine.response().fill(&samples::response(), "mine").await;
    theirs.response().fill(&samples::response(), "theirs").await;
    let late = mine.retrieval::<String>().slot(&samples::retrieval()).await;

    let life = world.tenants.life("acme");
    let operator = Credential::bearer(world.tenants.operator_token());
    let reach = Reach::One(TenantId::parse("acme").unwrap());
    let grant = world
        .tenants
        .realm()
        .operators()
        .open(&operator, "the customer has left us", "CASE-1", reach, Duration::from_secs(60))
        .await
        .unwrap();
    let realm = world.tenants.realm();
    assert_eq!(
        realm.erase_store(&grant, life, &world.caches).await,
        Err(Denial::NotVisible),
        "a living tenant is not erased"
    );
    assert_eq!(mine.response().hit(&samples::response()).await.as_deref(), Some("mine"));

    world.tenants.erase("acme");
    world.rig.down.store(true, SeqCst);
    let failed = realm.erase_store(&grant, life, &world.caches).await.unwrap();
    assert!(failed.is_failed(), "said honestly: {failed:?}");
    assert!(failed.why().unwrap().starts_with("the cache back end failed: "), "{failed:?}");
    world.rig.down.store(false, SeqCst);
    for _ in 0..2 {
        assert_eq!(realm.erase_store(&grant, life, &world.caches).await, Ok(StoreVerdict::Verified), "idempotent");
    }
    assert!(late.put(&"late".to_owned()).await.is_err(), "a place reserved before is of no use");
    assert_eq!(realm.erase_store(&grant, life, &world.caches).await, Ok(StoreVerdict::Verified));
    assert_eq!(theirs.response().hit(&samples::response()).await.as_deref(), Some("theirs"));

    let elsewhere = TestTenants::new().await;
    let foreign = Caches::new(elsewhere.realm(), std::sync::Arc::clone(&world.rig));
    let refused = Ok(StoreVerdict::told(Denial::ForeignRealm));
    assert_eq!(realm.erase_store(&grant, life, &foreign).await, refused, "another realm's caches refuse");
}
