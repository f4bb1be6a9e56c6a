//! What lands late: a fill of another process, after a removal or a flush.

use tenancy_cache::Put;
use tenancy_testkit::TestTenants;

use crate::cases::Place;
use crate::{Look, Store, of, process, question};

#[tokio::test(flavor = "multi_thread")]
async fn c6_a_fill_that_began_before_a_removal_in_another_process_is_not_found_after_it() {
    for store in Store::both().await {
        let tenants = TestTenants::new().await;
        let (one, other) = (process(&tenants, store.backend()), process(&tenants, store.backend()));
        let (here, there) = (of(&one, &tenants, "acme").await, of(&other, &tenants, "acme").await);
        for (number, what) in ["nothing was kept", "a value was kept", "it was removed before"].into_iter().enumerate()
        {
            let parts = question(number);
            if number == 2 {
                there.invalidate(&parts).await.unwrap();
            }
            let slow = here.slot(&parts).await;
            if number == 1 {
                there.fill(&parts, "kept").await;
            }
            there.invalidate(&parts).await.unwrap();
            assert_eq!(slow.put(&"stale".to_owned()).await.unwrap(), Put::Stored, "this process knows of nothing");
            assert_eq!(there.hit(&parts).await, None, "{}, {what}", store.name());
            assert_eq!(here.hit(&parts).await, None, "{}, {what}", store.name());
            here.fill(&parts, "fresh").await;
            assert_eq!(there.hit(&parts).await.as_deref(), Some("fresh"), "{}, {what}", store.name());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c6_a_removal_leaves_every_other_entry() {
    for store in Store::both().await {
        let tenants = TestTenants::new().await;
        let (one, other) = (process(&tenants, store.backend()), process(&tenants, store.backend()));
        let (here, there) = (of(&one, &tenants, "acme").await, of(&other, &tenants, "acme").await);
        for number in 0..60 {
            here.fill(&question(number), "kept").await;
        }
        there.invalidate(&question(7)).await.unwrap();
        for number in 0..60 {
            assert_eq!(here.hit(&question(number)).await.is_some(), number != 7, "{}, {number}", store.name());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flush_reaches_every_process_and_one_tenant() {
    for store in Store::both().await {
        let tenants = TestTenants::new().await;
        let (one, other) = (process(&tenants, store.backend()), process(&tenants, store.backend()));
        let (here, globex) = (of(&one, &tenants, "acme").await, of(&one, &tenants, "globex").await);
        for number in 0..60 {
            here.fill(&question(number), "old").await;
            globex.fill(&question(number), "globex's").await;
        }
        let slow = here.slot(&question(60)).await;
        let salt = |caches: tenancy_cache::Caches, context| async move {
            caches.scoped(&context).unwrap().engine_salt(&crate::samples::engine()).await.unwrap()
        };
        let before = salt(one.clone(), tenants.context("acme").await).await;
        assert!(before == salt(other.clone(), tenants.context("acme").await).await, "one salt for all processes");
        other.scoped(&tenants.context("acme").await).unwrap().flush().await.unwrap();
        assert!(before != salt(one.clone(), tenants.context("acme").await).await);
        slow.put(&"late".to_owned()).await.unwrap();
        for number in 0..=60 {
            assert_eq!(here.hit(&question(number)).await, None, "{}, {number}", store.name());
        }
        for number in 0..60 {
            assert_eq!(globex.hit(&question(number)).await.as_deref(), Some("globex's"), "{}, {number}", store.name());
        }
        assert_eq!(one.stats().of(tenancy_cache::Layer::Response).integrity_misses, 0, "what was flushed is no lie");
    }
}
