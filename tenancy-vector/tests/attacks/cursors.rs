//! Cursors in hands and lists that they were not made for.

use tenancy_testkit::TestTenants;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::{Filter, Order, Scroll, SharedVectors, TenantVectors, VectorError, VectorStore};

use crate::cases::{id, of};
use crate::corpora;
use crate::house::{House, key, lang, library, nothing, scan, schema};

/// V6: a cursor is good for one tenant, one subject, one list and one order.
pub(crate) async fn cursors_that_moved(house: House) {
    let tenants = &house.tenants;
    let plain = || Scroll::new().limit(2).unwrap();
    let rising = || plain().order(Order::ascending(key("year")));
    let from =
        async |mine: &TenantVectors, scroll: &Scroll| mine.scroll(scroll, None).await.unwrap().next().unwrap().clone();
    let colleague = house.store.scoped(&tenants.context_of("acme", "somebody-else", &[]).await).unwrap();
    let again = house.store.scoped(&tenants.context("acme").await).unwrap();
    let others = TestTenants::new().await;
    let elsewhere = VectorStore::new(others.realm(), ReferenceBackend::new(), schema());
    let elsewhere = of(&others, &elsewhere, "acme").await;
    elsewhere.upsert(library("acme")).await.unwrap();
    let (own, ordered) = (from(&house.acme, &plain()).await, from(&house.acme, &rising()).await);
    for (mechanism, who, scroll, cursor) in [
        ("the neighbour's", &house.acme, plain(), from(&house.globex, &plain()).await),
        ("the neighbour's, in order", &house.acme, rising(), from(&house.globex, &rising()).await),
        ("one's own, given away", &house.globex, plain(), own.clone()),
        ("a colleague's", &house.acme, plain(), from(&colleague, &plain()).await),
        ("one's own, by a colleague", &colleague, rising(), ordered.clone()),
        ("of the same name in another realm", &house.acme, plain(), from(&elsewhere, &plain()).await),
        ("without an order, in one", &house.acme, rising(), own.clone()),
        ("of an order, without one", &house.acme, plain(), ordered.clone()),
        ("of the opposite order", &house.acme, plain().order(Order::descending(key("year"))), ordered.clone()),
    ] {
        let refused = who.scroll(&scroll, Some(&cursor)).await;
        assert!(matches!(refused, Err(VectorError::Denied(_))), "{mechanism}: {refused:?}");
    }
    assert!(matches!(
        house.acme.scroll(&plain().order(Order::ascending(key("lang"))), Some(&ordered)).await,
        Err(VectorError::Denied(_) | VectorError::NotIndexed(_))
    ));
    let text = own.as_str();
    let turned: String = text.chars().rev().collect();
    let mut forged =
        vec![String::new(), text[1..].to_owned(), format!("{text}="), format!("{text}A"), turned, "a".repeat(100_000)];
    for at in (0..text.len()).step_by(text.len() / 16) {
        let other = if text.as_bytes()[at] == b'A' { "B" } else { "A" };
        forged.push(format!("{}{other}{}", &text[..at], &text[at + 1..]));
    }
    for forged in forged {
        let refused = house.acme.scroll(&plain(), Some(&forged.clone().into())).await;
        assert!(matches!(refused, Err(VectorError::Denied(_))), "{forged}: {refused:?}");
    }
    // Under another filter it is only a place to begin at: what comes is one's own, and meets the filter.
    for (scroll, cursor) in [(plain(), &own), (rising(), &ordered)] {
        for filter in [lang("de"), lang("de").not(), nothing(), nothing().not(), Filter::HasId(vec![id("secret")])] {
            let page = again.scroll(&scroll.clone().filter(filter.clone()), Some(cursor)).await.unwrap();
            let wanted = scan(&house.alone, Some(filter)).await;
            assert!(page.points().iter().all(|point| wanted.contains(point.id().as_str())));
            assert!(page.points().iter().all(|point| point.payload()["owner"] == "acme"));
        }
        assert_eq!(again.scroll(&scroll, Some(cursor)).await.unwrap().points().len(), 2, "positive control");
    }
}

/// A cursor of a corpus is good for that corpus and that reader.
#[tokio::test]
async fn cursors_of_corpora_stay_where_they_are() {
    let tenants = TestTenants::new().await;
    let store = VectorStore::new(tenants.realm(), ReferenceBackend::new(), schema());
    let corpus = |text| SharedVectors::new(tenants.realm(), &corpora::name(text), ReferenceBackend::new(), schema());
    let (handbook, statutes) = (corpus("handbook"), corpus("statutes"));
    corpora::publish(&tenants, &handbook, library("everybody")).await;
    corpora::publish(&tenants, &statutes, library("everybody")).await;
    let (acme, globex) = (tenants.context("acme").await, tenants.context("globex").await);
    let colleague = tenants.context_of("acme", "somebody-else", &[]).await;
    let own = store.scoped(&acme).unwrap();
    own.upsert(library("acme")).await.unwrap();
    let page = Scroll::new().limit(2).unwrap();
    let mine = own.scroll(&page, None).await.unwrap().next().unwrap().clone();
    let read = handbook.scoped(&acme).unwrap();
    let cursor = read.scroll(&page, None).await.unwrap().next().unwrap().clone();
    assert_eq!(read.scroll(&page, Some(&cursor)).await.unwrap().points().len(), 2, "positive control");
    for (mechanism, refused) in [
        ("in another corpus", statutes.scoped(&acme).unwrap().scroll(&page, Some(&cursor)).await),
        ("by another tenant", handbook.scoped(&globex).unwrap().scroll(&page, Some(&cursor)).await),
        ("by a colleague", handbook.scoped(&colleague).unwrap().scroll(&page, Some(&cursor)).await),
        ("in one's own list", own.scroll(&page, Some(&cursor)).await),
        ("of one's own list, in a corpus", read.scroll(&page, Some(&mine)).await),
    ] {
        assert!(matches!(refused, Err(VectorError::Denied(_))), "{mechanism}: {refused:?}");
    }
}
