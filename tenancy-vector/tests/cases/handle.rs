//! Cases of every call of a handle but the plainest: each with a neighbour in the same store whose points would show.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

use std::collections::BTreeSet;

use serde_json::json;
use tenancy_core::Denial;
use tenancy_testkit::TestTenants;
use tenancy_vector::{
    Change, DenseVector, Example, Expression, Filter, FilterValue, Fusion, GroupBy, IndexKind, Order, OrderFrom,
    PayloadKey, Point, Range, Recommend, Schema, Scroll, Select, TenantVectors, Upload, VectorError, VectorName,
    VectorQuery, VectorStore,
};

use crate::cases::{DIMENSION, denied, id, object, of, terms};

pub(crate) fn schema() -> Schema {
    Schema::hybrid(DIMENSION).unwrap().index(key("lang"), IndexKind::Keyword).index(key("year"), IndexKind::Integer)
}

fn key(text: &str) -> PayloadKey {
    PayloadKey::parse(text).unwrap()
}

fn lang(text: &str) -> Filter {
    Filter::Equals(key("lang"), text.into())
}

/// Twelve points: `lang` by turns en, de, fr; `year` 2000 to 2005, each twice; the n-th is the n-th nearest to `+x`.
fn library(owner: &str) -> Vec<Point> {
    let point = |n: u16| {
        let lang = ["en", "de", "fr"][usize::from(n % 3)];
        let payload = json!({"owner": owner, "lang": lang, "year": 2000 + n / 2, "tags": [n % 2, "x"]});
        let dense = vec![1.0, 0.1 * f32::from(n), 0.0, 0.0];
        Point::hybrid(id(&format!("doc:{n}")), dense, terms(&[u32::from(n), 99]), object(payload)).unwrap()
    };
    (0..12).map(point).collect()
}

/// Acme and globex have the same ids; globex has three times as many points.
async fn libraries(tenants: &TestTenants, store: &VectorStore) -> (TenantVectors, TenantVectors) {
    let (mine, theirs) = (of(tenants, store, "acme").await, of(tenants, store, "globex").await);
    mine.upsert(library("acme")).await.unwrap();
    theirs.upsert(library("globex")).await.unwrap();
    let more =
        |n: usize| Point::hybrid(id(&format!("more:{n}")), vec![1.0; 4], terms(&[99]), object(json!({"lang": "xx"})));
    theirs.upsert((0..24).map(|n| more(n).unwrap()).collect()).await.unwrap();
    (mine, theirs)
}

fn near() -> VectorQuery {
    VectorQuery::dense(vec![1.0, 0.0, 0.0, 0.0]).unwrap().limit(100).unwrap()
}

async fn ids(mine: &TenantVectors, query: &VectorQuery) -> Vec<String> {
    let hits = mine.query(query).await.unwrap();
    assert!(hits.iter().all(|hit| hit.payload()["owner"] == "acme"), "{hits:?}");
    hits.iter().map(|hit| hit.id().as_str().to_owned()).collect()
}

/// V6: counts, values, pages, samples and neighbours are the tenant's own, and nobody else's cursor is good.
pub(crate) async fn reads_without_a_filter_see_ones_own(tenants: &TestTenants, store: &VectorStore) {
    let (mine, theirs) = libraries(tenants, store).await;
    assert_eq!(mine.count(None).await.unwrap(), 12);
    assert_eq!(mine.count(Some(&lang("en"))).await.unwrap(), 4);
    assert_eq!(mine.count(Some(&lang("xx"))).await.unwrap(), 0);

    let facets = mine.facet(&key("lang"), None, 10).await.unwrap();
    let facets: Vec<_> = facets.iter().map(|facet| (facet.value().clone(), facet.count())).collect();
    assert_eq!(facets, [("de", 4), ("en", 4), ("fr", 4)].map(|(text, count)| (FilterValue::from(text), count)));

    let sample = mine.query(&VectorQuery::sample().limit(100).unwrap()).await.unwrap();
    assert_eq!(sample.len(), 12);
    let near = mine.matrix(&VectorName::dense(), None, 100, 3).await.unwrap();
    assert_eq!(near.len(), 12 * 3);
    assert!(near.iter().all(|pair| pair.one() != pair.other() && pair.score() <= 1.0001));

    let scroll = Scroll::new().limit(5).unwrap();
    let first = theirs.scroll(&scroll, None).await.unwrap();
    let before = denied(tenants, "acme", "scope.wrong_life").await;
    let refused = mine.scroll(&scroll, first.next()).await;
    assert!(matches!(refused, Err(VectorError::Denied(Denial::WrongLife))), "{refused:?}");
    assert!(denied(tenants, "acme", "scope.wrong_life").await > before, "on record");
    for reserved in ["tenancy", "tenancy.life", "\"tenancy\"", "tenancy[]"] {
        assert!(matches!(PayloadKey::parse(reserved), Err(VectorError::ReservedKey)), "{reserved}");
    }
}

/// Pages have every point once, in whichever order, also where many have one value.
pub(crate) async fn pages_have_every_point_once(tenants: &TestTenants, store: &VectorStore) {
    let (mine, _) = libraries(tenants, store).await;
    for (what, scroll, count) in [
        ("all", Scroll::new(), 12),
        ("a filter", Scroll::new().filter(lang("de")), 4),
        ("rising", Scroll::new().order(Order::ascending(key("year"))), 12),
        ("falling, a filter", Scroll::new().order(Order::descending(key("year"))).filter(lang("fr")), 4),
    ] {
        for limit in [1, 3, 5, 100] {
            let (scroll, mut seen, mut next, mut years) =
                (scroll.clone().limit(limit).unwrap(), BTreeSet::new(), None, vec![]);
            loop {
                let page = mine.scroll(&scroll, next.as_ref()).await.unwrap();
                for point in page.points() {
                    assert_eq!(point.payload()["owner"], "acme");
                    assert!(seen.insert(point.id().clone()), "{what}, {limit} a page: twice");
                    years.push(point.payload()["year"].as_i64().unwrap());
                }
                next = page.next().cloned();
                if next.is_none() {
                    break;
                }
            }
            assert_eq!(seen.len(), count, "{what}, {limit} a page");
            match what {
                "rising" => assert!(years.is_sorted(), "{years:?}"),
                "falling, a filter" => assert!(years.iter().rev().is_sorted(), "{years:?}"),
                _no_order => {}
            }
        }
    }
    let rising = |order: Order| Scroll::new().order(order).limit(3).unwrap();
    let page = mine.scroll(&rising(Order::ascending(key("year"))), None).await.unwrap();
    let later = rising(Order::ascending(key("year")).starting_at(OrderFrom::Integer(2004)));
    let before = mine.scroll(&later, page.next()).await;
    assert!(matches!(before, Err(VectorError::Denied(_))), "a cursor leads before the beginning: {before:?}");
    let unindexed = Scroll::new().order(Order::ascending(key("owner")));
    assert!(matches!(mine.scroll(&unindexed, None).await, Err(VectorError::NotIndexed(_))));
}

/// V2: an example that is another tenant's and one that is nobody's are the same; one's own is not among the hits.
pub(crate) async fn examples_are_ones_own(tenants: &TestTenants, store: &VectorStore) {
    let (mine, theirs) = libraries(tenants, store).await;
    let dense = VectorName::dense;
    let point = |text: &str| Example::Point(id(text));
    let queries = |text: &str| {
        [
            VectorQuery::recommend(dense(), Recommend::Average, [point(text)], []).unwrap(),
            VectorQuery::recommend(dense(), Recommend::Best, [], [point(text)]).unwrap(),
            VectorQuery::recommend(dense(), Recommend::Sum, [point("doc:0")], [point(text)]).unwrap(),
            VectorQuery::discover(dense(), point(text), []),
            VectorQuery::discover(dense(), point("doc:0"), [(point("doc:1"), point(text))]),
            VectorQuery::context(dense(), [(point(text), point("doc:1"))]).unwrap(),
            VectorQuery::fuse(Fusion::ranks(), [near(), VectorQuery::discover(dense(), point(text), [])]),
        ]
    };
    for (foreign, nobodys) in queries("more:1").into_iter().zip(queries("nobody's")) {
        for query in [foreign, nobodys] {
            let answer = mine.query(&query).await;
            assert!(matches!(answer, Err(VectorError::Denied(Denial::NotVisible))), "{query:?}: {answer:?}");
        }
    }
    for query in queries("doc:3") {
        let found = ids(&mine, &query.limit(100).unwrap()).await;
        assert!(!found.is_empty() && !found.contains(&"doc:3".to_owned()), "{found:?}");
    }
    let nearest = VectorQuery::recommend(dense(), Recommend::Average, [point("doc:0")], [point("doc:11")]).unwrap();
    assert_eq!(ids(&mine, &nearest.limit(1).unwrap()).await, ["doc:1"]);
    assert!(!theirs.query(&queries("more:1")[0]).await.unwrap().is_empty(), "positive control");
}

/// V13: each query of a batch is scoped, and keeps its place when it finds nothing.
pub(crate) async fn batches_keep_their_places(tenants: &TestTenants, store: &VectorStore) {
    let (mine, _) = libraries(tenants, store).await;
    let nothing = near().filter(Filter::AnyOf(key("lang"), vec![])).unwrap();
    let fused =
        VectorQuery::fuse(Fusion::Scores, [near(), VectorQuery::sparse(terms(&[99])).unwrap()]).limit(100).unwrap();
    let batch = [near(), nothing.clone(), near().filter(lang("de")).unwrap(), fused, nothing];
    let found = mine.query_batch(&batch).await.unwrap();
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [12, 0, 4, 12, 0]);
    assert!(found.iter().flatten().all(|hit| hit.payload()["owner"] == "acme"));
    let many = vec![near(); TenantVectors::MAX_QUERIES + 1];
    assert!(matches!(mine.query_batch(&many).await, Err(VectorError::TooMany { .. })));
}

/// Queries of every kind find what they should among one's own.
pub(crate) async fn every_kind_of_query_finds_ones_own(tenants: &TestTenants, store: &VectorStore) {
    let (mine, _) = libraries(tenants, store).await;
    let first = async |query: VectorQuery| ids(&mine, &query).await.first().cloned();
    let x = || DenseVector::new(vec![1.0, 0.0, 0.0, 0.0]).unwrap();
    assert_eq!(ids(&mine, &near().limit(3).unwrap()).await, ["doc:0", "doc:1", "doc:2"]);
    assert_eq!(ids(&mine, &near().score_threshold(0.99).unwrap()).await, ["doc:0", "doc:1"]);
    assert_eq!(first(VectorQuery::mmr(VectorName::dense(), x(), 0.0).unwrap()).await.as_deref(), Some("doc:0"));
    let unlike = ids(&mine, &VectorQuery::mmr(VectorName::dense(), x(), 0.9).unwrap().limit(2).unwrap()).await;
    assert_eq!(unlike, ["doc:0", "doc:11"], "the second is as unlike the first as can be");
    let newest = VectorQuery::ordered(Order::descending(key("year"))).limit(2).unwrap();
    assert_eq!(
        ids(&mine, &newest).await.into_iter().collect::<BTreeSet<_>>(),
        ["doc:10", "doc:11"].map(String::from).into()
    );
    let by_year = Expression::Sum(vec![Expression::Score(0), Expression::Value(key("year"), 0.0)]);
    let newest = first(VectorQuery::rescore(by_year, [near()])).await;
    assert!(["doc:10", "doc:11"].map(|id| Some(id.to_owned())).contains(&newest), "{newest:?}");
    let german = Expression::When(Box::new(lang("de")));
    assert_eq!(
        first(VectorQuery::rescore(german.clone(), [near().filter(lang("de")).unwrap()])).await.as_deref(),
        Some("doc:1")
    );
    let refined = VectorQuery::refine(VectorName::dense(), x(), [VectorQuery::sparse(terms(&[4, 8])).unwrap()]);
    assert_eq!(ids(&mine, &refined).await, ["doc:4", "doc:8"]);
    let gone = VectorQuery::rescore(
        Expression::Sum(vec![Expression::Score(0), Expression::Score(1)]),
        [near().filter(Filter::AnyOf(key("lang"), vec![])).unwrap(), near()],
    );
    assert_eq!(first(gone).await.as_deref(), Some("doc:0"), "an arm that finds nothing scores nothing");
    for bad in [
        VectorQuery::fuse(Fusion::ranks(), []),
        VectorQuery::rescore(Expression::Score(1), [near()]),
        VectorQuery::fuse(Fusion::weighted(vec![1.0, 2.0]).unwrap(), [near()]),
    ] {
        assert!(matches!(mine.query(&bad).await, Err(VectorError::NoArm)), "{bad:?}");
    }
    let deep = (0..5).fold(near(), |inner, _| VectorQuery::fuse(Fusion::ranks(), [inner]));
    assert!(matches!(mine.query(&deep).await, Err(VectorError::QueryTooLarge { .. })));
    let levels = |more: usize| (1..more).fold(Expression::Score(0), |inner, _| Expression::Negative(Box::new(inner)));
    let wide = |parts: usize| Expression::Sum(vec![Expression::Score(0); parts - 1]);
    for (formula, fits) in
        [(levels(16), true), (levels(17), false), (levels(300), false), (wide(256), true), (wide(257), false)]
    {
        let asked = mine.query(&VectorQuery::rescore(formula, [near()])).await;
        assert_eq!(asked.is_ok(), fits, "{asked:?}");
        assert!(fits || matches!(asked, Err(VectorError::FormulaTooLarge { .. })), "{asked:?}");
    }
}

/// Groups have the best hits of each value, the group with the best hit first.
pub(crate) async fn groups_have_ones_own(tenants: &TestTenants, store: &VectorStore) {
    let (mine, _) = libraries(tenants, store).await;
    let groups = mine.query_groups(&near(), &GroupBy::new(key("lang"), 2, 3).unwrap()).await.unwrap();
    let shown: Vec<(_, Vec<_>)> = groups
        .iter()
        .map(|group| (group.value().clone(), group.hits().iter().map(|hit| hit.id().as_str()).collect()))
        .collect();
    assert_eq!(shown[0], ("en".into(), vec!["doc:0", "doc:3", "doc:6"]));
    assert_eq!(shown[1], ("de".into(), vec!["doc:1", "doc:4", "doc:7"]));
    assert_eq!(shown.len(), 2);
    let by_tag = mine.query_groups(&near(), &GroupBy::new(key("tags"), 9, 20).unwrap()).await.unwrap();
    assert_eq!(
        by_tag.iter().map(|group| group.hits().len()).collect::<Vec<_>>(),
        [12, 6, 6],
        "a list is in a group for each"
    );
}

/// Changes reach one's own points and no others, by id and by filter.
pub(crate) async fn changes_reach_ones_own(tenants: &TestTenants, store: &VectorStore) {
    let (mine, theirs) = libraries(tenants, store).await;
    let before = theirs.get_with_vectors(&(0..12).map(|n| id(&format!("doc:{n}"))).collect::<Vec<_>>()).await.unwrap();
    let ids_of = |texts: &[&str]| Select::Ids(texts.iter().map(|text| id(text)).collect());
    let mark = |name: &str| object(json!({ name: true }));
    let plain = |text: &str| {
        Point::hybrid(id(text), vec![0.0, 0.0, 1.0, 0.0], terms(&[5]), object(json!({"owner": "acme"}))).unwrap()
    };
    let changes = vec![
        Change::SetPayload(ids_of(&["doc:0", "more:1", "nobody's"]), mark("by_id"), None),
        Change::SetPayload(Select::Matching(lang("de")), mark("by_filter"), None),
        Change::SetPayload(Select::All, mark("x"), Some(key("deep.er"))),
        Change::SetPayload(Select::Ids(vec![]), mark("never"), None),
        Change::SetPayload(Select::Matching(Filter::AnyOf(key("lang"), vec![])), mark("never"), None),
        Change::DeletePayload(ids_of(&["doc:2"]), vec![key("deep.er.x"), key("tags")]),
        Change::OverwritePayload(vec![(id("doc:3"), object(json!({"owner": "acme", "new": 1})))]),
        Change::SetVectors(vec![(
            id("doc:4"),
            vec![(VectorName::dense(), DenseVector::new(vec![0.0, 0.0, 0.0, 1.0]).unwrap().into())],
        )]),
        Change::DeleteVectors(ids_of(&["doc:5"]), vec![VectorName::sparse()]),
        Change::Insert(vec![plain("doc:6"), plain("inserted")]),
        Change::Update(vec![plain("doc:7"), plain("not there")], None),
        Change::Update(
            vec![plain("doc:8"), plain("doc:11")],
            Some(Filter::Within(key("year"), Range::new(2004.0..2004.5).unwrap())),
        ),
        Change::Delete(Select::Matching(Filter::HasId(vec![id("doc:10"), id("more:2")]))),
    ];
    mine.change(changes).await.unwrap();

    let count = async |filter: Filter| mine.count(Some(&filter)).await.unwrap();
    let flag = |name: &str| Filter::Equals(key(name), true.into());
    assert_eq!((count(flag("by_id")).await, count(flag("never")).await), (1, 0));
    assert_eq!(count(flag("by_filter")).await, 2, "of four in German one is updated as a whole and one deleted");
    assert_eq!(count(Filter::IsEmpty(key("deep.er.x"))).await, 5, "doc:2, 3, 7, 8 and the new one");
    assert_eq!(count(Filter::Equals(key("new"), 1.into())).await, 1);
    assert_eq!(count(Filter::HasVector(VectorName::sparse())).await, mine.count(None).await.unwrap() - 1);
    assert_eq!(mine.count(None).await.unwrap(), 12, "one inserted, one deleted");
    let z = VectorQuery::dense(vec![0.0, 0.0, 1.0, 0.0]).unwrap().score_threshold(0.9).unwrap();
    let replaced: BTreeSet<_> = ids(&mine, &z).await.into_iter().collect();
    assert_eq!(replaced, ["doc:7", "doc:8", "inserted"].map(String::from).into());
    let w = VectorQuery::dense(vec![0.0, 0.0, 0.0, 1.0]).unwrap().limit(1).unwrap();
    assert_eq!(ids(&mine, &w).await, ["doc:4"]);
    let after = theirs.get_with_vectors(&(0..12).map(|n| id(&format!("doc:{n}"))).collect::<Vec<_>>()).await.unwrap();
    assert_eq!(before, after, "the neighbour's points are as they were");
    assert_eq!(theirs.count(None).await.unwrap(), 36);

    for (change, why) in [
        (Change::SetPayload(Select::All, object(json!({"tenancy": 1})), None), "the tag"),
        (Change::SetPayload(Select::All, object(json!({"\"tenancy\"": 1})), None), "the tag, in quotes"),
        (Change::SetPayload(Select::All, object(json!({"tenancy[]": 1})), None), "the tag as a list"),
        (Change::OverwritePayload(vec![(id("doc:0"), object(json!({"tenancy.life": 1})))]), "within the tag"),
    ] {
        assert!(matches!(mine.change(vec![change]).await, Err(VectorError::ReservedKey)), "{why}");
    }
    mine.change(vec![Change::Delete(Select::All)]).await.unwrap();
    assert_eq!((mine.count(None).await.unwrap(), theirs.count(None).await.unwrap()), (0, 36));
}

/// An update is judged by the point that is there, also where the condition is about a vector that the new one has not.
pub(crate) async fn updates_are_judged_by_what_is_there(tenants: &TestTenants, store: &VectorStore) {
    let mine = of(tenants, store, "acme").await;
    mine.upsert(library("acme")).await.unwrap();
    let terms_there = || Filter::HasVector(VectorName::sparse());
    for (mechanism, filter, turn, wanted) in [
        ("a vector that goes", terms_there(), 1, 1),
        ("and is not there any more", terms_there(), 2, 1),
        ("the opposite", terms_there().not(), 3, 3),
        ("one that stays", Filter::HasVector(VectorName::dense()), 4, 4),
        ("beside a value", Filter::All(vec![terms_there().not(), Filter::Equals(key("turn"), 4.into())]), 5, 5),
        ("beside another value", Filter::All(vec![terms_there().not(), Filter::Equals(key("turn"), 4.into())]), 6, 5),
    ] {
        let dense = DenseVector::new(vec![0.0, 0.0, 1.0, 0.0]).unwrap();
        let point = Point::new(id("doc:1"), object(json!({"owner": "acme", "turn": turn}))).unwrap();
        let point = point.with(VectorName::dense(), dense);
        mine.change(vec![Change::Update(vec![point], Some(filter))]).await.unwrap();
        let found = mine.get_with_vectors(&[id("doc:1")]).await.unwrap();
        let found = found[0].point().unwrap();
        assert_eq!(found.payload()["turn"], json!(wanted), "{mechanism}");
        assert_eq!(found.vectors().keys().collect::<Vec<_>>(), [&VectorName::dense()], "{mechanism}");
    }
    mine.change(vec![Change::Delete(Select::All)]).await.unwrap();
}

/// An upload stores all of a stream, and says after each batch how many there are.
pub(crate) async fn uploads_are_acknowledged_batch_by_batch(tenants: &TestTenants, store: &VectorStore) {
    let mine = of(tenants, store, "acme").await;
    let mut acknowledged = Vec::new();
    let points = futures_util::stream::iter(library("acme"));
    let stored = mine.upload(points, Upload::new().batch(5).unwrap(), |count| acknowledged.push(count)).await.unwrap();
    assert_eq!((stored, mine.count(None).await.unwrap()), (12, 12));
    assert_eq!(acknowledged, [5, 10, 12]);
}
