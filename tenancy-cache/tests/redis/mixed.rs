//! Answers that come in another order than they were asked for.

use tenancy_cache::redis::RedisOptions;
use tenancy_cache::{Bypass, CacheError, Lookup};
use tenancy_testkit::TestTenants;
use tenancy_testkit::proxy::{Lie, LyingProxy};

use crate::history::recovered;
use crate::{Look, of, patient, process, question};

/// What a removal is told has the form of an answer to a look: it says nothing of the removal.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_something_else_settles_no_removal_and_ends_the_connection() {
    let server = crate::server().await;
    let proxy = LyingProxy::start(([127, 0, 0, 1], server.port()).into(), 1).await.unwrap();
    let tenants = TestTenants::new().await;
    let backend = patient(RedisOptions::new(&format!("redis://127.0.0.1:{}", proxy.port())).unwrap());
    let caches = process(&tenants, backend);
    let (acme, globex) = (of(&caches, &tenants, "acme").await, of(&caches, &tenants, "globex").await);
    let parts = question(1);
    globex.fill(&parts, "globex's").await;
    let (removed, looked) = loop {
        acme.fill(&parts, "acme's").await;
        proxy.rate(Lie::Swapped, 10_000);
        let outcome = tokio::join!(acme.invalidate(&parts), globex.lookup(&parts));
        proxy.be_honest();
        // On a busy machine the one may be answered before the other is asked.
        if proxy.told(Lie::Swapped) > 0 {
            break outcome;
        }
    };
    assert!(matches!(removed, Err(CacheError::Invalidate(_))), "{removed:?}");
    assert!(matches!(looked, Ok(Lookup::Bypass(Bypass::Backend))), "{looked:?}");
    let looked = acme.lookup(&question(2)).await.unwrap();
    assert!(matches!(looked, Lookup::Bypass(Bypass::InvalidationOwed)), "{looked:?}");

    recovered(&globex).await;
    assert_eq!(globex.hit(&parts).await.as_deref(), Some("globex's"));
    acme.invalidate(&parts).await.unwrap();
    assert_eq!(acme.hit(&parts).await, None);
}
