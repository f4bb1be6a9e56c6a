//! C1: the same question of two tenants, on all three layers, and its relatives.

use std::time::{Duration, SystemTime};

use tenancy_cache::{
    EmbeddingParts, EntryParts, Layer, ResponseParts, RetrievalParts, TenantCaches, TenantLayer, derive,
};
use tenancy_core::{Life, TenantId, TenantRecord, Visibility};
use tenancy_testkit::TestTenants;

use super::{House, Place};
use crate::look::Look;
use crate::samples;

pub(crate) async fn c1(place: &impl Place) {
    two_tenants(place).await;
    relatives(place).await;
}

async fn two_tenants(place: &impl Place) {
    let house = House::on(place).await;
    let (a, b) = (house.of("acme").await, house.of("globex").await);
    are_two_entries(a.response(), b.response(), &samples::response(), house.place).await;
    are_two_entries(a.retrieval(), b.retrieval(), &samples::retrieval(), house.place).await;
    are_two_entries(a.embedding(), b.embedding(), &samples::embedding(), house.place).await;
    let key = async |mine: &TenantCaches| {
        let moment = mine.moment(Layer::Response, &[]).await.unwrap();
        derive(mine.context(), &moment, &samples::response()).unwrap()
    };
    assert!(key(&a).await == key(&a).await && key(&a).await != key(&b).await, "{}: keys", house.place);
    assert!(a.engine_salt(&samples::engine()).await.unwrap() != b.engine_salt(&samples::engine()).await.unwrap());
    let counted = house.caches.stats();
    for layer in [Layer::Response, Layer::Retrieval, Layer::Embedding] {
        let counted = counted.of(layer);
        assert_eq!((counted.hits, counted.misses, counted.bypasses, counted.integrity_misses), (3, 3, 0, 0));
    }
    assert!(house.tenants.denied_rules().await.is_empty(), "{}: nobody tried anything", house.place);
}

async fn are_two_entries<P: EntryParts>(a: TenantLayer<P, String>, b: TenantLayer<P, String>, parts: &P, place: &str) {
    a.fill(parts, "acme's").await;
    assert_eq!(b.hit(parts).await, None, "{place}: another tenant's entry is a miss");
    assert_eq!(a.hit(parts).await.as_deref(), Some("acme's"), "{place}: the owner's own is a hit");
    b.fill(parts, "globex's").await;
    assert_eq!(a.hit(parts).await.as_deref(), Some("acme's"), "{place}: and stays what it was");
    assert_eq!(b.hit(parts).await.as_deref(), Some("globex's"), "{place}");
}

#[derive(Clone, Copy, PartialEq)]
enum Relative {
    Tenant,
    Reborn,
    Realm,
    Subject,
    Roles,
    Flushed,
    Erased,
    Process,
    Again,
}

/// Each fills as one and looks as the other, in every layer.
async fn relatives(place: &impl Place) {
    for (mechanism, other) in [
        ("the life in the key", Relative::Tenant),
        ("the life in the key: a new life of the same name", Relative::Reborn),
        ("the realm in the key and in its own key: a realm of the same name over the same back end", Relative::Realm),
        ("the subject in a private entry", Relative::Subject),
        ("the roles in an entry for roles, the subject being the same", Relative::Roles),
        ("the epoch after a flush", Relative::Flushed),
        ("the epoch after the life was let go of", Relative::Erased),
        ("none: another process", Relative::Process),
        ("none: another request", Relative::Again),
    ] {
        let house = House::on(place).await;
        let visibility = match other {
            Relative::Subject => Visibility::Subject,
            Relative::Roles => Visibility::Roles,
            _ => Visibility::Tenant,
        };
        let parts = (
            ResponseParts { visibility, ..samples::response() },
            RetrievalParts { visibility, ..samples::retrieval() },
            EmbeddingParts { visibility, ..samples::embedding() },
        );
        let first = house.of_user("ann", &["editor"]).await;
        first.response().fill(&parts.0, "first").await;
        first.retrieval().fill(&parts.1, "first").await;
        first.embedding().fill(&parts.2, "first").await;
        assert_eq!(first.response().hit(&parts.0).await.as_deref(), Some("first"), "the owner's own: {mechanism}");

        let elsewhere = TestTenants::new().await;
        let second = match other {
            Relative::Tenant => house.of("globex").await,
            Relative::Reborn => {
                bear_again(&house.tenants);
                house.of_user("ann", &["editor"]).await
            }
            Relative::Realm => {
                let context = elsewhere.context_of("acme", "ann", &["editor"]).await;
                place.process(&elsewhere).scoped(&context).unwrap()
            }
            Relative::Subject => house.of_user("bob", &["editor"]).await,
            Relative::Roles => house.of_user("ann", &["editor", "reader"]).await,
            Relative::Flushed => {
                first.flush().await.unwrap();
                first
            }
            Relative::Erased => {
                place.process(&house.tenants).scoped(first.context()).unwrap().flush().await.unwrap();
                house.of_user("ann", &["editor"]).await
            }
            Relative::Process => place.process(&house.tenants).scoped(first.context()).unwrap(),
            Relative::Again => house.of_user("bob", &["reader"]).await,
        };
        let found = matches!(other, Relative::Process | Relative::Again).then_some("first");
        let of = house.place;
        assert_eq!(second.response::<String>().hit(&parts.0).await.as_deref(), found, "{of}: {mechanism}");
        assert_eq!(second.retrieval::<String>().hit(&parts.1).await.as_deref(), found, "{of}: {mechanism}");
        assert_eq!(second.embedding::<String>().hit(&parts.2).await.as_deref(), found, "{of}: {mechanism}");
    }
}

/// The tenant is erased and comes back under its name.
fn bear_again(tenants: &TestTenants) {
    tenants.erase("acme");
    let born = SystemTime::now() - Duration::from_secs(40);
    let issuer = tenants.issuer().issuer();
    let record = TenantRecord::new(TenantId::parse("acme").unwrap(), Life::random(), born).claim(issuer, "acme").role(
        issuer,
        "editor",
        ["use-model"],
    );
    tenants.directory().add(record).unwrap();
}
