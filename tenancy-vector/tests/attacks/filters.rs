//! Filters that may be taken for more than they say.

use std::collections::BTreeSet;

use serde_json::json;
use tenancy_vector::{
    Change, Expression, Filter, Fusion, GroupBy, Point, Range, Select, VectorError, VectorName, VectorQuery,
};

use crate::cases::{id, object, terms};
use crate::house::{House, POINTS, key, lang, library, near, nothing, scan};

const DEEPEST: &str = "denied as deep as can be";

/// Each may be taken for more than it is.
fn wide_filters() -> Vec<(&'static str, Filter)> {
    let everything = || nothing().not();
    let foreign = || Filter::HasId(vec![id("secret")]);
    let deep = |filter: Filter, levels| (0..levels).fold(filter, |inner, _| inner.not());
    vec![
        ("no ids, denied", Filter::HasId(vec![]).not()),
        ("no ways, denied", Filter::Any(vec![]).not()),
        ("no ways", Filter::Any(vec![])),
        ("everything, many times", Filter::All(vec![everything(), everything(), everything()])),
        ("one of everything and nothing", Filter::Any(vec![nothing(), everything()])),
        ("more ways than there are", Filter::AtLeast(3, vec![everything(), everything()])),
        ("as many ways as can be counted", Filter::AtLeast(usize::MAX, vec![everything(), lang("en")])),
        ("a way that is held already", Filter::AtLeast(1, vec![everything(), lang("xx")])),
        ("one of two ways too few", Filter::AtLeast(2, vec![everything(), nothing(), lang("en")])),
        ("ways of none", Filter::AtLeast(1, vec![])),
        ("ways of none, denied", Filter::AtLeast(1, vec![]).not()),
        ("a foreign id", foreign()),
        ("not a foreign id", foreign().not()),
        ("not a foreign id, in a should", Filter::Any(vec![foreign().not(), foreign()])),
        ("a foreign id or everything", Filter::AtLeast(1, vec![foreign(), everything()])),
        ("a foreign value", Filter::Equals(key("owner"), "globex".into())),
        ("not the own value", Filter::Equals(key("owner"), "acme".into()).not()),
        ("what is not there is empty", Filter::IsEmpty(key("Tenancy"))),
        ("what is not there is null", Filter::IsNull(key("x.tenancy")).not()),
        ("lists of any length", Filter::Items(key("nowhere"), Range::new(0..u64::MAX).unwrap())),
        ("any number", Filter::Within(key("year"), Range::new(f64::MIN..f64::MAX).unwrap())),
        ("a vector", Filter::HasVector(VectorName::dense())),
        ("no vector", Filter::HasVector(VectorName::dense()).not()),
        (
            "an item that is not one",
            Filter::Nested(key("parts"), Box::new(Filter::Equals(key("kind"), "en".into()).not())),
        ),
        ("an item of everything", Filter::Nested(key("parts"), Box::new(everything()))),
        ("not an item of nothing", Filter::Nested(key("parts"), Box::new(nothing())).not()),
        ("an item of a list of nobody", Filter::Nested(key("nobodys"), Box::new(Filter::IsEmpty(key("n")))).not()),
        (DEEPEST, deep(nothing(), 15)),
        ("and once less", deep(nothing(), 14)),
    ]
}

/// V10: what comes back is what a store without neighbours gives, whichever way it is asked for.
pub(crate) async fn filters_that_try_to_widen(house: House) {
    for (mechanism, filter) in wide_filters() {
        let wanted = scan(&house.alone, Some(filter.clone())).await;
        assert_eq!(scan(&house.acme, Some(filter.clone())).await, wanted, "scroll: {mechanism}");
        let count = house.acme.count(Some(&filter)).await.unwrap();
        assert_eq!(count, wanted.len() as u64, "count: {mechanism}");
        let filtered = |query: VectorQuery| query.filter(filter.clone()).unwrap();
        let in_an_arm =
            VectorQuery::fuse(Fusion::Scores, [filtered(near()), filtered(VectorQuery::sample().limit(50).unwrap())]);
        let weighed = Expression::Product(vec![Expression::Score(0), Expression::When(Box::new(filter.clone()))]);
        for (kind, query, narrows) in [
            ("nearest", filtered(near()), true),
            ("sample", filtered(VectorQuery::sample()), true),
            ("an arm", in_an_arm, true),
            ("twice", filtered(if mechanism == DEEPEST { near() } else { filtered(near()) }), true),
            ("a formula", VectorQuery::rescore(weighed, [near()]), false),
        ] {
            let Ok(query) = query.limit(100) else { continue };
            let hits = house.acme.query(&query).await.unwrap();
            assert!(hits.iter().all(|hit| hit.payload()["owner"] == "acme"), "{kind}: {mechanism}");
            let found: BTreeSet<_> = hits.iter().map(|hit| hit.id().as_str().to_owned()).collect();
            if narrows && !mechanism.contains("vector") {
                assert_eq!(found, wanted, "{kind}: {mechanism}");
            }
        }
        let facets = house.acme.facet(&key("lang"), Some(&filter), 9).await.unwrap();
        assert_eq!(facets, house.alone.facet(&key("lang"), Some(&filter), 9).await.unwrap(), "facet: {mechanism}");
        let groups =
            house.acme.query_groups(&filtered(near()), &GroupBy::new(key("owner"), 5, 20).unwrap()).await.unwrap();
        assert!(groups.iter().all(|group| group.value() == &"acme".into()), "groups: {mechanism}");
        let pairs = house.acme.matrix(&VectorName::dense(), Some(&filter), 20, 20).await.unwrap();
        assert!(
            pairs.iter().all(|pair| wanted.contains(pair.one().as_str()) && wanted.contains(pair.other().as_str()))
        );
    }
    for (mechanism, filter) in [
        ("all of none", Filter::All(vec![])),
        ("all of none, denied", Filter::All(vec![]).not()),
        ("all of none, among ways", Filter::Any(vec![lang("en"), Filter::All(vec![])])),
        ("none or more of", Filter::AtLeast(0, vec![lang("xx")])),
        ("none or more of none, in an item", Filter::Nested(key("parts"), Box::new(Filter::AtLeast(0, vec![])))),
    ] {
        assert!(matches!(house.acme.count(Some(&filter)).await, Err(VectorError::FilterEmpty)), "{mechanism}");
    }
    let by_id = Filter::Nested(key("parts"), Box::new(Filter::HasId(vec![id("secret")]).not()));
    assert!(matches!(house.acme.count(Some(&by_id)).await, Err(VectorError::FilterNested)));
}

/// The same filters, to say what is changed and deleted: the neighbour's points are as they were.
pub(crate) async fn changes_by_filters_that_try_to_widen(house: House) {
    let theirs = house.theirs().await;
    for (mechanism, filter) in wide_filters() {
        let wanted = scan(&house.alone, Some(filter.clone())).await;
        let those = || Select::Matching(filter.clone());
        let mark = || object(json!({ "mark": mechanism }));
        let newer = |n: u16| {
            Point::hybrid(
                id(&format!("doc:{n}")),
                vec![1.0; 4],
                terms(&[1]),
                object(json!({"owner": "acme", "newer": true})),
            )
        };
        let foreign =
            Point::hybrid(id("secret"), vec![1.0; 4], terms(&[1]), object(json!({"owner": "acme", "newer": true})));
        house.acme.change(vec![Change::SetPayload(those(), mark(), None)]).await.unwrap();
        let marked = scan(&house.acme, Some(Filter::Equals(key("mark"), mechanism.into()))).await;
        assert_eq!(marked, wanted, "set: {mechanism}");
        let all = (0..POINTS).map(newer).chain([foreign]).collect::<Result<_, _>>().unwrap();
        house.acme.change(vec![Change::Update(all, Some(filter.clone()))]).await.unwrap();
        let newer = scan(&house.acme, Some(Filter::Equals(key("newer"), true.into()))).await;
        assert_eq!(newer, wanted, "update: {mechanism}");
        house.acme.upsert(library("acme")).await.unwrap();
        let changes = vec![
            Change::DeletePayload(those(), vec![key("tags")]),
            Change::DeleteVectors(those(), vec![VectorName::sparse()]),
        ];
        house.acme.change(changes).await.unwrap();
        house.acme.upsert(library("acme")).await.unwrap();
        house.acme.change(vec![Change::Delete(those())]).await.unwrap();
        let left = scan(&house.acme, None).await;
        assert_eq!(left.len() + wanted.len(), usize::from(POINTS), "delete: {mechanism}");
        assert!(left.is_disjoint(&wanted), "delete: {mechanism}");
        house.acme.upsert(library("acme")).await.unwrap();
        assert_eq!(house.theirs().await, theirs, "{mechanism}");
    }
}
