//! Examples and formulas: what a query names beside its vectors.

use serde_json::Map;
use tenancy_core::Denial;
use tenancy_vector::{
    DenseVector, Example, Expression, Filter, Fusion, GroupBy, Point, Recommend, VectorError, VectorName, VectorQuery,
};

use crate::cases::id;
use crate::house::{House, POINTS, is_denied, key, near, nothing};
use crate::models::Model;

/// V2: wherever an example may stand, another's is nobody's; and one that is not looked at is looked up all the same.
pub(crate) async fn examples_in_every_place(house: House) {
    let dense = VectorName::dense;
    let point = |text: &str| Example::Point(id(text));
    let plain = || Example::Input(DenseVector::new(vec![1.0, 0.0, 0.0, 0.0]).unwrap().into());
    let like = |text: &str| VectorQuery::recommend(dense(), Recommend::Best, [point(text)], []).unwrap();
    let x = || DenseVector::new(vec![1.0, 0.0, 0.0, 0.0]).unwrap();
    let queries = |text: &str| {
        vec![
            VectorQuery::fuse(Fusion::ranks(), [VectorQuery::fuse(Fusion::Scores, [near(), like(text)])]),
            VectorQuery::rescore(Expression::Number(1.0), [near(), like(text)]),
            VectorQuery::refine(dense(), x(), [like(text)]),
            VectorQuery::fuse(Fusion::ranks(), [near(), like(text).filter(nothing()).unwrap()]),
            like(text).filter(nothing()).unwrap(),
            like(text).filter(Filter::HasId(vec![id(text)])).unwrap(),
            VectorQuery::recommend(dense(), Recommend::Average, [plain(), point(text)], [point(text)]).unwrap(),
            VectorQuery::recommend(VectorName::sparse(), Recommend::Sum, [point(text)], []).unwrap(),
            VectorQuery::discover(dense(), plain(), [(plain(), point(text))]),
            VectorQuery::context(dense(), [(plain(), plain()), (point(text), plain())]).unwrap(),
        ]
    };
    for (foreign, nobodys) in queries("secret").into_iter().zip(queries("nobody's")) {
        for query in [foreign, nobodys] {
            let answer = house.acme.query(&query).await;
            assert!(is_denied(&answer, Denial::NotVisible), "{query:?}: {answer:?}");
            let batch = house.acme.query_batch(&[near(), query.clone()]).await;
            assert!(is_denied(&batch, Denial::NotVisible), "{query:?}");
            let groups = house.acme.query_groups(&query, &GroupBy::new(key("lang"), 2, 2).unwrap()).await;
            assert!(is_denied(&groups, Denial::NotVisible), "{query:?}");
            let ranked = house.acme.query_reranked(&query, "", &Model::of(1.0), 3).await;
            assert!(is_denied(&ranked, Denial::NotVisible), "{query:?}");
        }
    }
    for query in queries("doc:3") {
        let hits = house.acme.query(&query).await.unwrap();
        assert!(hits.iter().all(|hit| hit.payload()["owner"] == "acme" && hit.id() != &id("doc:3")), "{query:?}");
    }
    assert!(house.globex.query(&like("secret")).await.is_ok(), "positive control");
    // A point of one's own without the vector is told apart from one that is not there; another's without it is not.
    for (who, name) in [(&house.acme, "mine"), (&house.globex, "theirs")] {
        who.upsert(vec![Point::new(id(name), Map::new()).unwrap()]).await.unwrap();
    }
    assert!(matches!(house.acme.query(&like("mine")).await, Err(VectorError::NoVector(_))));
    assert!(is_denied(&house.acme.query(&like("theirs")).await, Denial::NotVisible));
}

/// A formula orders what the arms found, by what is in the caller's own payload.
pub(crate) async fn formulas_read_ones_own(house: House) {
    let foreign = || Filter::HasId(vec![id("secret"), id("nobody's")]);
    let when = |filter| Expression::When(Box::new(filter));
    let only = |score: Expression| VectorQuery::rescore(score, [near()]).limit(100).unwrap();
    for (mechanism, score, wanted) in [
        ("a foreign id", when(foreign()), 0.0),
        ("not a foreign id", when(foreign().not()), 1.0),
        ("nothing", when(nothing()), 0.0),
        ("everything", when(nothing().not()), 1.0),
        ("a foreign owner", when(Filter::Equals(key("owner"), "globex".into())), 0.0),
        ("what looks like the tag", Expression::Value(key("Tenancy.life"), 7.0), 7.0),
        ("a tag further down", Expression::Value(key("x.tenancy.life"), 7.0), 7.0),
        ("a text for a number", Expression::Absolute(Box::new(when(Filter::IsEmpty(key("nowhere"))))), 1.0),
    ] {
        let hits = house.acme.query(&only(score)).await.unwrap();
        assert_eq!(hits.len(), usize::from(POINTS), "{mechanism}");
        assert!(
            hits.iter().all(|hit| hit.score() == wanted && hit.payload()["owner"] == "acme"),
            "{mechanism}: {hits:?}"
        );
    }
    for (mechanism, score) in [
        ("no number", Expression::Number(f32::NAN)),
        ("no number, deep in it", Expression::Sum(vec![Expression::Value(key("year"), f32::INFINITY)])),
        (
            "by zero to no number",
            Expression::Quotient(Box::new(Expression::Score(0)), Box::new(Expression::Number(0.0)), f32::NAN),
        ),
    ] {
        assert!(matches!(house.acme.query(&only(score)).await, Err(VectorError::NotFinite)), "{mechanism}");
    }
    for arm in [1, usize::MAX] {
        assert!(matches!(house.acme.query(&only(Expression::Score(arm))).await, Err(VectorError::NoArm)));
    }
    let by_year = house.acme.query(&only(Expression::Value(key("year"), 0.0))).await.unwrap();
    assert_eq!(by_year[0].id(), &id("doc:8"), "positive control");
}
