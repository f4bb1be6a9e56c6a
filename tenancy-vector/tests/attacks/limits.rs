//! Limits, and numbers at their edge.

use std::time::Duration;

use tenancy_core::Denial;
use tenancy_vector::{
    Change, DenseVector, Example, Expression, Filter, Fusion, GroupBy, Order, OrderFrom, Range, Recommend, Select,
    VectorError, VectorName, VectorQuery,
};

use crate::cases::id;
use crate::house::{House, POINTS, is_denied, key, lang, near};

/// What is within a limit by itself is counted together.
pub(crate) async fn limits_that_are_reached_by_adding_up(house: House) {
    let deep = |levels| (0..levels).fold(lang("en"), |inner: Filter, _| inner.not());
    let wide = |n: i64| Filter::AnyOf(key("year"), (0..n).map(Into::into).collect());
    assert!(near().filter(deep(15)).is_ok(), "positive control");
    assert!(matches!(near().filter(deep(15)).unwrap().filter(lang("de")), Err(VectorError::FilterTooLarge { .. })));
    assert!(matches!(near().filter(wide(4090)).unwrap().filter(wide(7)), Err(VectorError::FilterTooLarge { .. })));
    let ids = |n: usize| (0..n).map(|n| id(&format!("no:{n}"))).collect::<Vec<_>>();
    let delete = |n| Change::Delete(Select::Ids(ids(n)));
    assert!(house.acme.change(vec![delete(5_000), delete(5_000)]).await.is_ok(), "positive control");
    let many = house.acme.change(vec![delete(5_000), delete(5_000), Change::Delete(Select::All)]).await;
    assert!(matches!(many, Err(VectorError::TooMany { .. })));
    assert_eq!(house.acme.count(None).await.unwrap(), u64::from(POINTS), "nothing of it was done");
    let like = |n: usize| {
        let examples = ids(n).into_iter().map(Example::Point);
        VectorQuery::recommend(VectorName::dense(), Recommend::Sum, examples, []).unwrap()
    };
    let halves = VectorQuery::fuse(Fusion::ranks(), [like(256), like(257)]);
    assert!(is_denied(&house.acme.query(&like(256)).await, Denial::NotVisible));
    assert!(matches!(house.acme.query(&halves).await, Err(VectorError::TooMany { .. })));
    let arms = |n| VectorQuery::fuse(Fusion::ranks(), vec![near(); n]);
    assert!(house.acme.query(&arms(63)).await.is_ok());
    assert!(matches!(house.acme.query(&arms(64)).await, Err(VectorError::QueryTooLarge { .. })));
    let nested = VectorQuery::fuse(Fusion::ranks(), [arms(31), arms(31)]);
    assert!(matches!(house.acme.query(&nested).await, Err(VectorError::QueryTooLarge { .. })));
    for (groups, size) in [(0, 1), (1, 0), (usize::MAX, 2), (1001, 1), (2, usize::MAX / 2 + 1)] {
        assert!(matches!(GroupBy::new(key("lang"), groups, size), Err(VectorError::BadLimit { .. })));
    }
    for (sample, neighbours) in [(0, 1), (1, 0), (101, 1), (1, usize::MAX)] {
        let refused = house.acme.matrix(&VectorName::dense(), None, sample, neighbours).await;
        assert!(matches!(refused, Err(VectorError::BadLimit { .. })));
    }
    for limit in [0, 1001, usize::MAX] {
        assert!(matches!(house.acme.facet(&key("lang"), None, limit).await, Err(VectorError::BadLimit { .. })));
    }
}

/// Numbers that mean nothing to an engine, or too much: what comes is one's own, and the neighbour is served as before.
pub(crate) async fn numbers_at_the_edge(house: House) {
    let theirs = house.theirs().await;
    let far = std::time::UNIX_EPOCH + Duration::from_secs(1 << 55);
    let order = |from| VectorQuery::ordered(Order::ascending(key("year")).starting_at(from));
    let during = |range| near().filter(Filter::During(key("at"), range)).unwrap();
    for (mechanism, query) in [
        ("an order from no number", order(OrderFrom::Float(f64::NAN))),
        ("an order from the end of numbers", order(OrderFrom::Float(f64::INFINITY))),
        ("an order from before all", order(OrderFrom::Integer(i64::MIN))),
        ("an order from after all", order(OrderFrom::Integer(i64::MAX))),
        ("an order from a day far away", order(OrderFrom::Datetime(far))),
        ("until a day far away", during(Range::new(..far).unwrap())),
        ("from a day far away", during(Range::new(far..).unwrap())),
        ("a range of no width", near().filter(Filter::Within(key("year"), Range::new(5.0..5.0).unwrap())).unwrap()),
        ("a range the wrong way", near().filter(Filter::Within(key("year"), Range::new(9.0..1.0).unwrap())).unwrap()),
        (
            "a range to the end",
            near().filter(Filter::Within(key("year"), Range::new(..f64::INFINITY).unwrap())).unwrap(),
        ),
        (
            "more items than there can be",
            near().filter(Filter::Items(key("tags"), Range::new(u64::MAX..).unwrap())).unwrap(),
        ),
        ("the highest threshold", near().score_threshold(f32::MAX).unwrap()),
        ("the lowest threshold", near().score_threshold(f32::MIN).unwrap()),
        ("the longest vector", VectorQuery::dense(vec![1e12; 4]).unwrap()),
        ("a vector of no length", VectorQuery::dense(vec![0.0; 4]).unwrap()),
        (
            "nothing but difference",
            VectorQuery::mmr(VectorName::dense(), DenseVector::new(vec![1.0; 4]).unwrap(), 1.0).unwrap(),
        ),
        ("the smallest weight", VectorQuery::fuse(Fusion::weighted(vec![f32::MIN_POSITIVE]).unwrap(), [near()])),
        ("the largest weight", VectorQuery::fuse(Fusion::weighted(vec![f32::MAX]).unwrap(), [near()])),
        (
            "a score without end",
            VectorQuery::rescore(Expression::Product(vec![Expression::Number(f32::MAX); 3]), [near()]),
        ),
    ] {
        // An engine may refuse.
        match house.acme.query(&query).await {
            Ok(hits) => assert!(hits.iter().all(|hit| hit.payload()["owner"] == "acme"), "{mechanism}"),
            Err(error) => assert!(matches!(error, VectorError::Backend(_)), "{mechanism}: {error:?}"),
        }
    }
    assert_eq!(house.acme.query(&near()).await.unwrap().len(), usize::from(POINTS), "positive control");
    assert_eq!(house.theirs().await, theirs);
}
