//! External ids that look like something else.

use tenancy_core::Denial;
use tenancy_testkit::TestTenants;
use tenancy_vector::{Change, Example, Filter, Found, Recommend, Select, VectorName, VectorQuery, VectorStore};

use crate::cases::{self, denied, id, of};
use crate::fake::Fake;
use crate::house::{House, is_denied};
use crate::spy::Spy;

/// The neighbour has the same id; whatever is done with it reaches one's own point alone.
pub(crate) async fn ids_that_no_eye_tells_apart(house: House) {
    for (mechanism, text) in [
        ("a mark of the byte order", "\u{feff}secret"),
        ("a letter of no width", "sec\u{200b}ret"),
        ("a turn of the writing's direction", "\u{202e}terces"),
        ("a zero byte behind it", "secret\0"),
        ("a zero byte before it", "\0secret"),
        ("the largest letter", "\u{10ffff}"),
        ("a line's end", "secret\r\n"),
        ("a wildcard", "*"),
        ("a wildcard of SQL", "%"),
        ("a way up", "../secret"),
        ("white space alone", " "),
    ] {
        let theirs = house.theirs().await;
        let before = denied(&house.tenants, "acme", "scope.not_visible").await;
        assert_eq!(house.acme.get(&[id(text)]).await.unwrap(), [Found::NotVisible], "{mechanism}");
        assert_eq!(house.acme.delete(&[id(text)]).await.unwrap().removed(), 0, "{mechanism}");
        assert_eq!(denied(&house.tenants, "acme", "scope.not_visible").await, before + 2, "{mechanism}");
        house.acme.upsert(vec![cases::point(text, 0.9, "acme")]).await.unwrap();
        let found = house.acme.get(&[id(text)]).await.unwrap();
        assert_eq!(found[0].point().unwrap().id(), &id(text), "positive control: {mechanism}");
        assert_eq!(house.acme.delete(&[id(text)]).await.unwrap().removed(), 1, "{mechanism}");
        assert_eq!(house.theirs().await, theirs, "{mechanism}");
    }
}

/// What an engine keeps of another's point names nothing, as an external id.
#[tokio::test]
async fn ids_made_of_what_an_engine_keeps() {
    let (tenants, spy) = (TestTenants::new().await, Spy::default());
    let store = VectorStore::new(tenants.realm(), Fake::new(spy.clone()), cases::schema());
    let (acme, globex) = (of(&tenants, &store, "acme").await, of(&tenants, &store, "globex").await);
    globex.upsert(vec![cases::point("B1", 1.0, "globex")]).await.unwrap();
    acme.upsert(vec![cases::point("A1", 0.5, "acme")]).await.unwrap();
    let tag = &spy.kept(0)["tenancy"];
    let (digest, life) = (tag["digest"].as_str().unwrap(), tag["life"].as_str().unwrap());
    let half: [u8; 16] = std::array::from_fn(|n| u8::from_str_radix(&digest[2 * n..2 * n + 2], 16).unwrap());
    let engine = uuid::Uuid::new_v8(half);
    for text in [
        digest.to_owned(),
        digest.to_uppercase(),
        digest[..32].to_owned(),
        engine.to_string(),
        engine.simple().to_string(),
        engine.urn().to_string(),
        engine.as_u128().to_string(),
        life.to_owned(),
        format!("{life}:B1"),
        format!("{life}/B1"),
        format!("B1\0{life}"),
        tag.to_string(),
    ] {
        let text = id(&text);
        assert_eq!(acme.get(std::slice::from_ref(&text)).await.unwrap(), [Found::NotVisible], "{}", text.as_str());
        assert_eq!(acme.delete(std::slice::from_ref(&text)).await.unwrap().removed(), 0);
        let filter = Filter::HasId(vec![text.clone()]);
        assert_eq!(acme.count(Some(&filter)).await.unwrap(), 0);
        acme.change(vec![Change::Delete(Select::Matching(filter))]).await.unwrap();
        let like = VectorQuery::recommend(VectorName::dense(), Recommend::Best, [Example::Point(text)], []).unwrap();
        assert!(is_denied(&acme.query(&like).await, Denial::NotVisible));
    }
    assert!(globex.get(&[id("B1")]).await.unwrap()[0].point().is_some(), "positive control");
}
