//! Requests that are heavy: refused before anybody is asked, wherever the weight stands, and by adding up too.

use std::sync::atomic::Ordering;

use serde_json::json;
use tenancy_testkit::TestTenants;
use tenancy_vector::{
    Change, DenseVector, Example, Expression, Filter, FilterValue, Fusion, GroupBy, Input, PayloadKey, Place,
    Recommend, Scroll, Select, SparseVector, TenantVectors, VectorError, VectorName, VectorQuery, VectorStore, Words,
};

use crate::cases::{id, object, of};
use crate::fake::Fake;
use crate::house::{key, lang, library, near, schema};
use crate::spy::Spy;

async fn house() -> (TenantVectors, Spy) {
    let (tenants, spy) = (TestTenants::new().await, Spy::default());
    let store = VectorStore::new(tenants.realm(), Fake::new(spy.clone()), schema());
    let mine = of(&tenants, &store, "acme").await;
    mine.upsert(library("acme")).await.unwrap();
    (mine, spy)
}

fn text(bytes: usize) -> FilterValue {
    "x".repeat(bytes).into()
}

/// About nine tenths of what a filter may weigh.
fn large() -> Filter {
    Filter::Equals(key("owner"), text(900_000))
}

fn is_heavy<T>(result: &Result<T, VectorError>, most: usize) -> bool {
    matches!(result, Err(VectorError::TooHeavy { most: found }) if *found == most)
}

/// Every place of a filter in which a text can stand, and many small ones.
fn heavy_filters() -> Vec<(&'static str, Filter)> {
    let heavy = || Filter::Equals(key("owner"), text(Filter::MAX_BYTES + 1));
    let long = |n: usize| key(&format!("{n:0>256}"));
    vec![
        ("a value", heavy()),
        ("forty megabytes", Filter::Equals(key("owner"), text(40 << 20))),
        ("a list", Filter::AnyOf(key("owner"), vec!["a".into(), text(Filter::MAX_BYTES)])),
        ("a long list", Filter::AnyOf(key("owner"), vec![text(300); 4000])),
        ("all but a value", heavy().not()),
        ("all but a list", Filter::AnyOf(key("owner"), vec![text(600_000); 2]).not()),
        ("one of several", Filter::Any(vec![lang("en"), heavy()])),
        ("several of several", Filter::AtLeast(2, vec![lang("en"), large(), large()])),
        ("all, by adding up", Filter::All(vec![large(), lang("en"), large()])),
        ("an item of a list", Filter::Nested(key("parts"), Box::new(heavy()))),
        ("keys", Filter::Any((0..4000).map(|n| Filter::IsEmpty(long(n))).collect())),
        (
            "ids and a value",
            Filter::All(vec![Filter::HasId(vec![id("a"); 3000]), Filter::Equals(key("owner"), text(700_000))]),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heavy_filter_is_refused_wherever_it_stands() {
    let (mine, spy) = house().await;
    for (mechanism, filter) in heavy_filters() {
        let refused = |result: Result<(), VectorError>, way: &str| {
            assert!(is_heavy(&result, Filter::MAX_BYTES), "{mechanism}, {way}: {:?}", result.err());
        };
        refused(near().filter(filter.clone()).map(drop), "a query");
        refused(mine.count(Some(&filter)).await.map(drop), "a count");
        refused(mine.scroll(&Scroll::new().filter(filter.clone()), None).await.map(drop), "a page");
        refused(mine.facet(&key("lang"), Some(&filter), 5).await.map(drop), "a facet");
        refused(mine.matrix(&VectorName::dense(), Some(&filter), 5, 5).await.map(drop), "a matrix");
        let weighed = Expression::Sum(vec![Expression::Score(0), Expression::When(Box::new(filter.clone()))]);
        let formula = VectorQuery::rescore(weighed, [near()]);
        refused(mine.query(&formula).await.map(drop), "a formula");
        let groups = GroupBy::new(key("lang"), 2, 2).unwrap();
        refused(mine.query_groups(&formula, &groups).await.map(drop), "a formula, in groups");
        let those = || Select::Matching(filter.clone());
        for (way, change) in [
            ("an update", Change::Update(library("acme"), Some(filter.clone()))),
            ("set values", Change::SetPayload(those(), object(json!({"x": 1})), None)),
            ("delete values", Change::DeletePayload(those(), vec![key("x")])),
            ("delete vectors", Change::DeleteVectors(those(), vec![VectorName::sparse()])),
            ("delete", Change::Delete(those())),
        ] {
            refused(mine.change(vec![Change::Delete(Select::All), change]).await, way);
        }
    }
    assert_eq!(spy.reads.load(Ordering::Relaxed), 0, "nothing was asked");
    assert_eq!(mine.count(None).await.unwrap(), 9, "nothing was done");
    for (mechanism, filter) in [
        ("a value", large()),
        ("the longest list of ids", Filter::HasId(vec![id(&"x".repeat(512)); 4096])),
        ("a list of as many", Filter::AnyOf(key("owner"), vec![text(200); 4096])),
    ] {
        assert_eq!(mine.count(Some(&filter)).await.unwrap(), 0, "positive control: {mechanism}");
        assert!(mine.query(&near().filter(filter).unwrap()).await.unwrap().is_empty(), "{mechanism}");
    }
    let words = Filter::Words(key("owner"), Words::Any("x ".repeat(20_000)));
    assert!(matches!(mine.count(Some(&words)).await, Err(VectorError::FilterTooLarge { .. })), "words are conditions");
}

/// What is light by itself, many times: a filter is sent with each search that it narrows.
#[tokio::test(flavor = "multi_thread")]
async fn a_heavy_call_is_refused_whatever_makes_it_heavy() {
    let (mine, spy) = house().await;
    let narrowed = || near().filter(large()).unwrap();
    let arms = |n| VectorQuery::fuse(Fusion::ranks(), vec![near(); n]).filter(large()).unwrap();
    let when = |n| {
        let parts = std::iter::repeat_with(|| Expression::When(Box::new(large()))).take(n);
        VectorQuery::rescore(Expression::Sum(parts.collect()), [near()])
    };
    let terms = || SparseVector::new((0..65_536).collect(), vec![1.0; 65_536]).unwrap();
    let sparse = || VectorQuery::sparse(terms()).unwrap();
    let dense = |n| VectorQuery::dense(vec![1.0; n]).unwrap();
    let like = |times| {
        let same = vec![Example::Point(id("doc:0")); times];
        VectorQuery::recommend(VectorName::dense(), Recommend::Sum, same, []).unwrap()
    };
    let vectors = |times| {
        let same = vec![Example::Input(terms().into()); times];
        VectorQuery::recommend(VectorName::sparse(), Recommend::Best, [], same).unwrap()
    };
    let pair = || (Example::Input(terms().into()), Example::Input(terms().into()));
    for (mechanism, queries) in [
        ("a batch of filters", vec![narrowed(); 20]),
        ("a filter around many arms", vec![arms(20)]),
        ("a filter around arms around arms", vec![VectorQuery::fuse(Fusion::ranks(), [arms(9), arms(9)])]),
        ("a formula with many filters", vec![when(20)]),
        ("a batch of terms", vec![sparse(); 40]),
        ("a vector of any length", vec![dense(5 << 20)]),
        ("a text", vec![VectorQuery::nearest(VectorName::sparse(), "x ".repeat(9 << 20))]),
        ("an example, over and over", vec![like(200_000)]),
        ("vectors to be unlike", vec![vectors(40)]),
        ("pairs", vec![VectorQuery::context(VectorName::sparse(), vec![pair(); 20]).unwrap()]),
        ("a target among pairs", vec![VectorQuery::discover(VectorName::sparse(), pair().0, vec![pair(); 20])]),
        (
            "what refines",
            vec![VectorQuery::refine(VectorName::dense(), DenseVector::new(vec![1.0; 5 << 20]).unwrap(), [near()])],
        ),
    ] {
        let refused = mine.query_batch(&queries).await.map(drop);
        assert!(is_heavy(&refused, VectorQuery::MAX_BYTES), "{mechanism}: {:?}", refused.err());
    }
    assert_eq!(spy.reads.load(Ordering::Relaxed), 0, "nothing was asked");
    let keys = |n: usize| (0..n).map(|n| key(&format!("k{n}"))).collect::<Vec<PayloadKey>>();
    let values = |bytes: usize| Change::SetPayload(Select::All, object(json!({ "v": "x".repeat(bytes) })), None);
    let one = || Select::Ids(vec![id("doc:0")]);
    let inputs = vec![(VectorName::sparse(), Input::Text(String::new())); 300_000];
    for (mechanism, changes) in [
        ("filters", (0..20).map(|_| Change::Delete(Select::Matching(large()))).collect()),
        ("keys", vec![Change::DeletePayload(one(), keys(300_000))]),
        ("names", vec![Change::DeleteVectors(one(), vec![VectorName::sparse(); 300_000])]),
        ("values", (0..90).map(|_| values(200_000)).collect()),
        ("inputs of one point", vec![Change::SetVectors(vec![(id("doc:0"), inputs)])]),
    ] {
        let refused = mine.change(changes).await;
        assert!(is_heavy(&refused, Change::MAX_BYTES), "{mechanism}: {refused:?}");
    }
    assert_eq!(mine.count(None).await.unwrap(), 9, "nothing was done");
    for (mechanism, query) in [("a filter around arms", arms(10)), ("a formula", when(10)), ("an example", like(200))] {
        assert!(mine.query(&query).await.is_ok(), "positive control: {mechanism}");
    }
    mine.change(vec![values(200_000), Change::DeletePayload(one(), keys(1000))]).await.expect("positive control");
}

/// An example is sent as its vector, as often as it is named.
#[tokio::test(flavor = "multi_thread")]
async fn an_example_weighs_what_its_vector_does() {
    let (mine, _) = house().await;
    let terms = SparseVector::new((0..65_536).collect(), vec![1.0; 65_536]).unwrap();
    let point = tenancy_vector::Point::hybrid(id("long"), vec![1.0; 4], terms, object(json!({}))).unwrap();
    mine.upsert(vec![point]).await.unwrap();
    let like = |name, times| {
        let same = vec![Example::Point(id("long")); times];
        VectorQuery::recommend(name, Recommend::Best, same, []).unwrap()
    };
    let refused = mine.query(&like(VectorName::sparse(), 40)).await;
    assert!(is_heavy(&refused, VectorQuery::MAX_BYTES), "{:?}", refused.err());
    assert!(mine.query(&like(VectorName::sparse(), 10)).await.is_ok(), "positive control");
    assert!(mine.query(&like(VectorName::dense(), 40)).await.is_ok(), "by its short one");
    let twice = vec![like(VectorName::sparse(), 20); 2];
    assert!(is_heavy(&mine.query_batch(&twice).await, VectorQuery::MAX_BYTES), "by adding up");
}

/// Everything else in which a text can stand has a limit of its own, and texts of a document have too.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_else_holds_a_text_is_bounded() {
    let (mine, spy) = house().await;
    let long = "x".repeat(257);
    assert!(matches!(PayloadKey::parse(&long), Err(VectorError::BadKey)));
    assert!(matches!(VectorName::parse(&long), Err(VectorError::BadName)));
    assert!(matches!(tenancy_vector::ExternalId::parse(&"x".repeat(513)), Err(VectorError::IdTooLong { .. })));
    let cursor = "A".repeat(40 << 20).into();
    assert!(matches!(mine.scroll(&Scroll::new(), Some(&cursor)).await, Err(VectorError::Denied(_))));
    let widest = key(&"x".repeat(256));
    let berlin = Place::new(13.4, 52.5).unwrap();
    for (mechanism, part) in [
        ("a value", Expression::Value(widest.clone(), 1.0)),
        ("a time", Expression::Datetime(widest.clone(), 1.0)),
        ("a distance", Expression::Distance(berlin, widest, 1.0)),
    ] {
        let formula = |parts| VectorQuery::rescore(Expression::Sum(vec![part.clone(); parts]), [near()]);
        assert!(mine.query(&formula(255)).await.is_ok(), "{mechanism}: as many as a formula has");
        assert!(matches!(mine.query(&formula(256)).await, Err(VectorError::FormulaTooLarge { .. })), "{mechanism}");
    }
    let before = spy.reads.load(Ordering::Relaxed);
    let heavy = || Input::Text("x ".repeat(Input::MAX_TEXT_BYTES));
    let point = tenancy_vector::Point::new(id("text"), object(json!({}))).unwrap().with(VectorName::sparse(), heavy());
    let set = Change::SetVectors(vec![(id("doc:0"), vec![(VectorName::sparse(), heavy())])]);
    for (mechanism, refused) in [
        ("of a point", mine.upsert(vec![point]).await),
        ("of a vector", mine.change(vec![set]).await),
        ("of a query", mine.query(&VectorQuery::nearest(VectorName::sparse(), heavy())).await.map(drop)),
    ] {
        assert!(is_heavy(&refused, Input::MAX_TEXT_BYTES), "a text {mechanism}: {refused:?}");
    }
    assert_eq!(spy.reads.load(Ordering::Relaxed), before, "nothing was asked");
}
