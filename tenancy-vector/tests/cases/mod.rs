//! Cases that hold on every back end: each is a table of inputs, each input with the mechanism it tests.
//!
//! The tests of a back end include this file and call the cases with a store on it.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

use serde_json::{Map, Value, json};
use tenancy_testkit::TestTenants;
use tenancy_vector::{ExternalId, Filter, Found, PayloadKey, Point, Schema, SparseVector, VectorQuery};
use tenancy_vector::{TenantVectors, VectorError, VectorStore};

pub(crate) const DIMENSION: usize = 4;

pub(crate) fn schema() -> Schema {
    Schema::hybrid(DIMENSION).unwrap()
}

pub(crate) fn id(text: &str) -> ExternalId {
    ExternalId::parse(text).unwrap()
}

pub(crate) fn terms(indices: &[u32]) -> SparseVector {
    SparseVector::new(indices.to_vec(), vec![1.0; indices.len()]).unwrap()
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// A point near the query of [`near`] by `closeness`, with one term, whose payload says whose it is.
pub(crate) fn point(text: &str, closeness: f32, owner: &str) -> Point {
    let dense = vec![1.0, 1.0 - closeness, 0.0, 0.0];
    Point::hybrid(id(text), dense, terms(&[7]), object(json!({ "owner": owner }))).unwrap()
}

pub(crate) fn near() -> VectorQuery {
    VectorQuery::hybrid(vec![1.0, 0.0, 0.0, 0.0], terms(&[7])).unwrap().limit(100).unwrap()
}

/// How many events of a rule are on record for a tenant.
pub(crate) async fn denied(tenants: &TestTenants, tenant: &str, rule: &str) -> u64 {
    let life = tenants.life(tenant);
    let records = tenants.audit().await;
    records.iter().filter(|r| r.life() == Some(life) && r.rule() == Some(rule)).map(|r| r.count()).sum()
}

pub(crate) async fn of(tenants: &TestTenants, store: &VectorStore, tenant: &str) -> TenantVectors {
    store.scoped(&tenants.context(tenant).await).unwrap()
}

fn owners(found: &[Found]) -> Vec<Option<&str>> {
    found.iter().map(|found| found.point().map(|point| point.payload()["owner"].as_str().unwrap())).collect()
}

/// V3: the same external id is another point for another tenant, whichever way the two are spelled.
///
/// The realm has the tenants of [`pairs`].
pub(crate) async fn ids_do_not_collide(tenants: &TestTenants, store: &VectorStore) {
    for Pair { mechanism, one, two, first, second } in pairs() {
        let (one, two) = (of(tenants, store, one).await, of(tenants, store, two).await);
        let second = second.unwrap_or_else(|| first.clone());
        one.upsert(vec![point(&first, 0.5, "one")]).await.unwrap();
        two.upsert(vec![point(&second, 0.9, "two")]).await.unwrap();
        assert_eq!(owners(&one.get(&[id(&first)]).await.unwrap()), [Some("one")], "{mechanism}");
        assert_eq!(owners(&two.get(&[id(&second)]).await.unwrap()), [Some("two")], "{mechanism}");
        let gone = one.delete(&[id(&first)]).await.unwrap();
        assert_eq!((gone.removed(), one.count(None).await.unwrap()), (1, 0), "{mechanism}");
        assert_eq!(owners(&two.get(&[id(&second)]).await.unwrap()), [Some("two")], "intact: {mechanism}");
        assert_eq!(two.query(&near()).await.unwrap().len(), 1, "intact: {mechanism}");
        assert_eq!(two.delete(&[id(&second)]).await.unwrap().removed(), 1, "{mechanism}");
    }
}

/// Tenants that [`ids_do_not_collide`] needs beside `acme` and `globex`.
pub(crate) const MORE_TENANTS: [&str; 2] = ["a", "a-b"];

struct Pair {
    mechanism: &'static str,
    one: &'static str,
    two: &'static str,
    first: String,
    /// The same when `None`.
    second: Option<String>,
}

fn pairs() -> Vec<Pair> {
    let same = |mechanism, id: &str| Pair { mechanism, one: "acme", two: "globex", first: id.to_owned(), second: None };
    let apart = |mechanism, one, two, first: &str, second: &str| Pair {
        mechanism,
        one,
        two,
        first: first.to_owned(),
        second: Some(second.to_owned()),
    };
    vec![
        same("the life is in the key", "doc-1"),
        // No tenant may have a colon in its name; the joints that are left are in the id and in a dash.
        apart("tenant and id are not joined by a separator", "a-b", "a", "c", "b-c"),
        apart("tenant and id are not joined by a colon", "a", "a-b", "b:c", "c"),
        apart("nor is anything trimmed off an id", "a", "a-b", ":b:c:", "b:c"),
        same("ids are not ascii only", "Überweisung/2026 №1 ✓"),
        same("the longest id is hashed whole", &"x".repeat(512)),
        same("an id that looks like an engine id is only a text", "00000000-0000-8000-8000-000000000001"),
        same("an id that looks like a number is only a text", "1"),
        same("an id that looks like a filter is only a text", "{\"must\":[]}"),
        same("a zero byte ends nothing", "doc\0-1"),
        same("an id that is a tenant's name is only a text", "globex"),
    ]
}

/// V3, within one tenant: ids that differ in a byte are two points.
pub(crate) async fn spellings_stay_apart(tenants: &TestTenants, store: &VectorStore) {
    let mine = of(tenants, store, "acme").await;
    let longest = "y".repeat(512);
    let table = [
        ("composed and decomposed forms", "\u{e9}", "e\u{301}"),
        ("case", "doc", "DOC"),
        ("a prefix", "doc", "doc-1"),
        ("a prefix of the longest", &longest[..511], longest.as_str()),
        ("white space at the end", "doc", "doc "),
        ("leading zeros", "1", "01"),
        ("spellings of a uuid", "550e8400-e29b-41d4-a716-446655440000", "550e8400e29b41d4a716446655440000"),
        ("look-alikes", "a", "\u{430}"),
        ("joints", "a:b", "a::b"),
        ("a zero byte", "a", "a\0"),
    ];
    for (mechanism, one, two) in table {
        mine.upsert(vec![point(one, 0.5, "one"), point(two, 0.5, "two")]).await.unwrap();
        let found = mine.get(&[id(two), id(one)]).await.unwrap();
        assert_eq!(owners(&found), [Some("two"), Some("one")], "{mechanism}");
        assert_eq!(mine.delete(&[id(one)]).await.unwrap().removed(), 1, "{mechanism}");
        assert_eq!(owners(&mine.get(&[id(two), id(one)]).await.unwrap()), [Some("two"), None], "{mechanism}");
        assert_eq!(mine.delete(&[id(two)]).await.unwrap().removed(), 1, "{mechanism}");
    }
}

/// The mechanism, the ids that are asked for, and whose point each is.
type LookUp = (&'static str, &'static [&'static str], &'static [Option<&'static str>]);

/// V4: a list of ids reaches one's own points; a foreign id is answered, counted and recorded as one that never was.
pub(crate) async fn lists_of_ids_reach_ones_own(tenants: &TestTenants, store: &VectorStore) {
    let (a, b) = (of(tenants, store, "acme").await, of(tenants, store, "globex").await);
    a.upsert(vec![point("A1", 0.5, "a"), point("A2", 0.4, "a")]).await.unwrap();
    b.upsert(vec![point("B1", 1.0, "b")]).await.unwrap();
    let table: [LookUp; 8] = [
        ("a mixed list", &["A1", "B1"], &[Some("a"), None]),
        ("the order is the caller's", &["B1", "A2", "A1"], &[None, Some("a"), Some("a")]),
        ("a foreign id alone", &["B1"], &[None]),
        ("an id that never was", &["C1"], &[None]),
        ("foreign and never", &["B1", "C1"], &[None, None]),
        ("an id twice", &["A1", "A1", "B1", "B1"], &[Some("a"), Some("a"), None, None]),
        ("one's own alone", &["A2"], &[Some("a")]),
        ("no id", &[], &[]),
    ];
    for (mechanism, asked, wanted) in table {
        let before = denied(tenants, "acme", "scope.not_visible").await;
        let asked: Vec<_> = asked.iter().map(|text| id(text)).collect();
        assert_eq!(owners(&a.get(&asked).await.unwrap()), wanted, "{mechanism}");
        let missing = wanted.iter().filter(|owner| owner.is_none()).count() as u64;
        let recorded = denied(tenants, "acme", "scope.not_visible").await - before;
        assert_eq!(recorded, missing, "each is on record: {mechanism}");
    }
    assert_eq!(owners(&b.get(&[id("B1")]).await.unwrap()), [Some("b")], "positive control");

    for (mechanism, asked, removed, not_visible) in [
        ("a mixed list", vec!["A1", "B1"], 1, 1),
        ("again", vec!["A1", "B1"], 0, 2),
        ("a foreign id alone", vec!["B1"], 0, 1),
        ("an id that never was", vec!["C1"], 0, 1),
        ("an id twice", vec!["A2", "A2", "B1", "B1"], 1, 1),
        ("no id", vec![], 0, 0),
    ] {
        let before = denied(tenants, "acme", "scope.not_visible").await;
        let asked: Vec<_> = asked.into_iter().map(id).collect();
        let deleted = a.delete(&asked).await.unwrap();
        assert_eq!((deleted.removed(), deleted.not_visible()), (removed, not_visible), "{mechanism}");
        let recorded = denied(tenants, "acme", "scope.not_visible").await - before;
        assert_eq!(recorded, not_visible, "each is on record: {mechanism}");
        assert_eq!(b.count(None).await.unwrap(), 1, "b is intact: {mechanism}");
    }
    assert_eq!(denied(tenants, "globex", "scope.not_visible").await, 0, "nothing is on b's record");
    assert_eq!(b.delete(&[id("B1")]).await.unwrap().removed(), 1);
}

/// V5: a payload can't bring a tag of its own, in any spelling and of any value.
pub(crate) async fn payloads_bring_no_tag(tenants: &TestTenants, store: &VectorStore) {
    let (a, b) = (of(tenants, store, "acme").await, of(tenants, store, "globex").await);
    b.upsert(vec![point("B1", 1.0, "b")]).await.unwrap();
    let theirs = tenants.life("globex").uuid().to_string();
    for key in ["tenancy", "\"tenancy\"", "tenancy[]", "tenancy.life", "\"tenancy\".life", "tenancy[0].life"] {
        for value in [
            json!({ "life": theirs.clone() }),
            json!({ "life": [theirs.clone(), tenants.life("acme").uuid().to_string()] }),
            json!([theirs.clone()]),
            json!(theirs.clone()),
            json!(1),
            json!(null),
            json!({}),
        ] {
            let payload = Map::from_iter([(key.to_owned(), value)]);
            let refused = Point::hybrid(id("A1"), vec![1.0; DIMENSION], terms(&[7]), payload);
            assert!(matches!(refused, Err(VectorError::ReservedKey)), "{key}");
        }
    }
    // Deeper down, and under a name that only resembles it, the words are the caller's.
    let payload =
        object(json!({ "owner": "a", "x": { "tenancy": { "life": theirs } }, "Tenancy": { "life": theirs } }));
    a.upsert(vec![Point::hybrid(id("A1"), vec![1.0; DIMENSION], terms(&[7]), payload.clone()).unwrap()]).await.unwrap();
    assert_eq!(a.query(&near()).await.unwrap()[0].payload(), &payload, "it comes back as it went, without our tag");
    assert_eq!((a.count(None).await.unwrap(), b.count(None).await.unwrap()), (1, 1));
    assert_eq!(b.query(&near()).await.unwrap().len(), 1);
    let _gone = (a.delete(&[id("A1")]).await.unwrap(), b.delete(&[id("B1")]).await.unwrap());
}

/// V7: an empty list of allowed documents finds nothing; a filter never widens what the tenant sees.
pub(crate) async fn filters_only_narrow(tenants: &TestTenants, store: &VectorStore) {
    let (a, b) = (of(tenants, store, "acme").await, of(tenants, store, "globex").await);
    a.upsert(vec![point("A1", 0.5, "a"), point("A2", 0.4, "x")]).await.unwrap();
    b.upsert(vec![point("B1", 1.0, "b"), point("B2", 1.0, "a")]).await.unwrap();
    let key = || PayloadKey::parse("owner").unwrap();
    let none = || Filter::AnyOf(key(), vec![]);
    let not = |filter| Filter::Not(Box::new(filter));
    let is = |owner: &str| Filter::Equals(key(), owner.into());
    for (mechanism, filter, wanted) in [
        ("an empty list", none(), vec![]),
        ("an empty list among others", Filter::All(vec![is("a"), none()]), vec![]),
        ("an empty list denied twice", not(not(none())), vec![]),
        ("an empty list denied: all of one's own", not(none()), vec!["A1", "A2"]),
        ("a list", Filter::AnyOf(key(), vec!["a".into(), "b".into()]), vec!["A1"]),
        ("another's value", is("b"), vec![]),
        ("anything but a value", not(is("nobody")), vec!["A1", "A2"]),
        ("a contradiction", Filter::All(vec![is("a"), not(is("a"))]), vec![]),
        ("denied contradiction", not(Filter::All(vec![is("a"), not(is("a"))])), vec!["A1", "A2"]),
        (
            "a missing key denied",
            not(Filter::Equals(PayloadKey::parse("no.such").unwrap(), 1.into())),
            vec!["A1", "A2"],
        ),
    ] {
        let hits = a.query(&near().filter(filter).unwrap()).await.unwrap();
        let mut found: Vec<_> = hits.iter().map(|hit| hit.id().as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, wanted, "{mechanism}");
    }
    for reserved in ["tenancy", "tenancy.life", "\"tenancy\"", "tenancy[]"] {
        assert!(matches!(PayloadKey::parse(reserved), Err(VectorError::ReservedKey)), "{reserved}");
    }
    let _gone = (a.delete(&[id("A1"), id("A2")]).await.unwrap(), b.delete(&[id("B1"), id("B2")]).await.unwrap());
}

/// V14: what is wrong with a call is said plainly, and nothing is written.
pub(crate) async fn wrong_calls_write_nothing(tenants: &TestTenants, store: &VectorStore) {
    let mine = of(tenants, store, "acme").await;
    let of_dimension = |n| Point::hybrid(id("A1"), vec![1.0; n], terms(&[7]), Map::new()).unwrap();
    for n in [1, DIMENSION - 1, DIMENSION + 1, 4096] {
        let refused = mine.upsert(vec![point("A0", 0.1, "a"), of_dimension(n)]).await;
        assert!(matches!(refused, Err(VectorError::WrongDimension { expected: DIMENSION, found, .. }) if found == n));
        let refused = mine.query(&VectorQuery::dense(vec![1.0; n]).unwrap()).await;
        assert!(matches!(refused, Err(VectorError::WrongDimension { .. })));
    }
    let twice = mine.upsert(vec![point("A1", 0.1, "a"), point("A2", 0.1, "a"), point("A1", 0.2, "a")]).await;
    assert!(matches!(twice, Err(VectorError::DuplicateId { at: 2 })));
    let many = vec![id("A1"); TenantVectors::MAX_BATCH + 1];
    assert!(matches!(mine.get(&many).await, Err(VectorError::TooMany { .. })));
    assert!(matches!(mine.delete(&many).await, Err(VectorError::TooMany { .. })));
    assert_eq!(mine.count(None).await.unwrap(), 0);
    mine.upsert(vec![]).await.unwrap();
    mine.upsert(vec![point("A1", 0.1, "a")]).await.unwrap();
    assert_eq!(mine.count(None).await.unwrap(), 1, "positive control");
    let _gone = mine.delete(&[id("A1")]).await.unwrap();
}
