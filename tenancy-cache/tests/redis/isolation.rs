//! Two tenants on one store.

use std::collections::HashSet;

use tenancy_testkit::TestTenants;

use crate::cases::Place;
use crate::{Look, Store, of, process, question};

/// C1: the same question of two tenants, from two processes.
#[tokio::test(flavor = "multi_thread")]
async fn c1_one_tenants_entry_is_anothers_miss_and_nothing_of_both_is_alike() {
    for store in Store::both().await {
        let tenants = TestTenants::new().await;
        let (one, other) = (process(&tenants, store.backend()), process(&tenants, store.backend()));
        for number in 0..20 {
            let parts = question(number);
            let (acme, globex) = (of(&one, &tenants, "acme").await, of(&other, &tenants, "globex").await);
            acme.fill(&parts, "acme's").await;
            assert_eq!(globex.hit(&parts).await, None, "{}", store.name());
            globex.fill(&parts, "globex's").await;
            assert_eq!(of(&other, &tenants, "acme").await.hit(&parts).await.as_deref(), Some("acme's"));
            assert_eq!(of(&one, &tenants, "globex").await.hit(&parts).await.as_deref(), Some("globex's"));
        }
        assert_eq!(one.stats().of(tenancy_cache::Layer::Response).integrity_misses, 0);
        if let Store::Server(server) = &store {
            let names = names(server).await;
            let digests: HashSet<_> = names.iter().filter_map(|name| name.rsplit(':').next()).collect();
            assert_eq!((names.len(), digests.len()), (40, 40), "no two of them have a digest in common");
        }
    }
}

/// Bytes of one tenant, put by hand under the name of another, do not open, and are on record.
#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_was_moved_under_another_name_is_a_miss_on_record() {
    let server = crate::server().await;
    let tenants = TestTenants::new().await;
    let caches = process(&tenants, crate::on(&server));
    let (acme, globex) = (of(&caches, &tenants, "acme").await, of(&caches, &tenants, "globex").await);
    let parts = question(1);
    acme.fill(&parts, "acme's").await;
    let theirs = names(&server).await.pop().unwrap();
    globex.fill(&parts, "globex's").await;
    let ours = names(&server).await.into_iter().find(|name| *name != theirs).unwrap();
    assert_eq!(server.command(&["copy", &theirs, &ours, "replace"]).await, "1");
    assert_eq!(globex.hit(&parts).await, None);
    assert_eq!(caches.stats().of(tenancy_cache::Layer::Response).integrity_misses, 1);
    assert_eq!(tenants.denied_rules().await, ["scope.wrong_life"]);
    assert_eq!(acme.hit(&parts).await.as_deref(), Some("acme's"), "positive control");
}

async fn names(server: &tenancy_testkit::ThrowawayRedis) -> Vec<String> {
    let all = server.command(&["keys", "tc1:*:response:*"]).await;
    all.lines().map(str::to_owned).collect()
}
