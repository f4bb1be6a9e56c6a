//! What is asked, each with its name.

use std::ops::Bound::{Excluded, Unbounded};
use std::time::{Duration, UNIX_EPOCH};

use super::corpus::{DIMENSION, Numbers, id, key, name};
use crate::error::VectorError;
use crate::filter::{Area, Filter, FilterValue, Place, Range, Words};
use crate::name::VectorName;
use crate::query::{Example, Fusion, Recommend, VectorQuery};
use crate::request::{Decay, Expression, Order, OrderFrom};
use crate::vector::{DenseVector, SparseVector, Vector};

/// A query, what it is in words, and what of its answer is the same everywhere.
pub(super) struct Question {
    pub(super) what: String,
    pub(super) query: VectorQuery,
    pub(super) by: By,
}

/// How answers are compared.
#[derive(Clone, Copy)]
pub(super) enum By {
    /// By their scores: which of several equal ones come within the limit is the engine's choice.
    Scores,
    /// Hit by hit: what an order or a choice put in a row.
    Places,
}

/// The three plain queries with and without each filter, then queries of each other kind.
pub(super) fn all(numbers: &mut Numbers) -> Result<Vec<Question>, VectorError> {
    let mut all = Vec::new();
    for (narrowed, filter) in std::iter::once(("no filter", None)).chain(filters()?.into_iter().map(some)) {
        let limits: &[usize] = if filter.is_none() { &[1, 7, 100] } else { &[7, 100] };
        for limit in limits {
            let sparse = SparseVector::new(vec![1, 5, 9, 200], vec![1.0, 0.5, numbers.value().abs() + 0.1, 3.0])?;
            for (kind, query) in [
                ("dense", VectorQuery::dense(numbers.dense())?),
                ("sparse", VectorQuery::sparse(sparse.clone())?),
                ("fusion of dense and sparse by ranks", VectorQuery::hybrid(numbers.dense(), sparse)?),
            ] {
                all.push(question(kind, By::Scores, query, *limit, narrowed, filter.clone())?);
            }
        }
    }
    for (kind, by, query) in kinds(numbers)? {
        for limit in [5, 100] {
            all.push(question(kind, by, query.clone(), limit, "no filter", None)?);
            let even = Filter::Equals(key("even")?, true.into());
            all.push(question(kind, by, query.clone(), limit, "a truth value", Some(even))?);
        }
    }
    Ok(all)
}

fn some<F>((what, filter): (&'static str, F)) -> (&'static str, Option<F>) {
    (what, Some(filter))
}

fn question(
    kind: &str,
    by: By,
    query: VectorQuery,
    limit: usize,
    narrowed: &str,
    filter: Option<Filter>,
) -> Result<Question, VectorError> {
    let what = format!("{kind}, {limit} at most, filter: {narrowed}");
    let query = query.limit(limit)?;
    Ok(Question { what, by, query: if let Some(filter) = filter { query.filter(filter)? } else { query } })
}

/// Queries of each kind beside the plain ones.
fn kinds(numbers: &mut Numbers) -> Result<Vec<(&'static str, By, VectorQuery)>, VectorError> {
    let (dense, sparse, late) = (VectorName::dense, VectorName::sparse, || name("late"));
    let point = |n: u8| Ok::<Example, VectorError>(id(&format!("point:{n}"))?.into());
    let vector = |numbers: &mut Numbers| Ok::<Vector, VectorError>(DenseVector::new(numbers.dense())?.into());
    let terms = || SparseVector::new(vec![2, 7, 11], vec![1.0, 0.7, 0.4]);
    let near = |numbers: &mut Numbers| VectorQuery::dense(numbers.dense());
    let by_rank = |descending| {
        Ok::<_, VectorError>(if descending { Order::descending(key("rank")?) } else { Order::ascending(key("rank")?) })
    };
    let march = UNIX_EPOCH + Duration::from_secs(MARCH);
    let like = [point(3)?, vector(numbers)?.into()];
    let pairs = [(point(1)?, point(2)?), (vector(numbers)?.into(), point(5)?)];
    let of = Fusion::ranks;
    let all = vec![
        (
            "dense, by scalar product",
            By::Scores,
            VectorQuery::nearest(name("dot")?, DenseVector::new(numbers.small())?),
        ),
        ("several vectors of a point", By::Scores, VectorQuery::nearest(late()?, numbers.late(2)?)),
        ("a text", By::Scores, VectorQuery::nearest(name("body")?, "the fence of a tenant")),
        ("dense, without an index", By::Scores, near(numbers)?.exact()),
        ("dense, above a score", By::Scores, near(numbers)?.score_threshold(0.1)?),
        ("sparse, above a score", By::Scores, VectorQuery::sparse(terms()?)?.score_threshold(1.5)?),
        ("near and unlike each other", By::Places, VectorQuery::mmr(dense(), vector(numbers)?, 0.5)?),
        (
            "recommend by the average of two points, unlike a third",
            By::Scores,
            VectorQuery::recommend(dense(), Recommend::Average, [point(4)?, point(8)?], [point(6)?])?,
        ),
        (
            "recommend by the best of a point and a vector, unlike a point",
            By::Scores,
            VectorQuery::recommend(dense(), Recommend::Best, like.clone(), [point(9)?])?,
        ),
        (
            "recommend by the sum over a point and a vector, unlike a point",
            By::Scores,
            VectorQuery::recommend(dense(), Recommend::Sum, like, [point(9)?])?,
        ),
        (
            "recommend by two points with several vectors",
            By::Scores,
            VectorQuery::recommend(late()?, Recommend::Sum, [point(3)?, point(5)?], [])?,
        ),
        ("discover with two pairs", By::Scores, VectorQuery::discover(dense(), point(12)?, pairs.clone())),
        ("context of two pairs", By::Scores, VectorQuery::context(dense(), pairs)?),
        ("in the order of a whole number", By::Places, VectorQuery::ordered(by_rank(false)?)),
        (
            "in the falling order of a whole number, from a value",
            By::Places,
            VectorQuery::ordered(by_rank(true)?.starting_at(OrderFrom::Integer(9))),
        ),
        (
            "in the order of a number, from a value",
            By::Places,
            VectorQuery::ordered(Order::ascending(key("weight")?).starting_at(OrderFrom::Float(0.5))),
        ),
        (
            "in the order of a point in time, from a value",
            By::Places,
            VectorQuery::ordered(Order::ascending(key("since")?).starting_at(OrderFrom::Datetime(march))),
        ),
        (
            "fusion of dense and sparse by weighed ranks",
            By::Scores,
            VectorQuery::fuse(Fusion::weighted(vec![2.0, 0.5])?, [near(numbers)?, VectorQuery::sparse(terms()?)?]),
        ),
        (
            "fusion by scores, one arm with a filter of its own",
            By::Scores,
            VectorQuery::fuse(Fusion::Scores, [near(numbers)?, near(numbers)?.filter(Filter::IsEmpty(key("label")?))?]),
        ),
        (
            "fusion of dense arms with limits of their own by ranks",
            By::Scores,
            VectorQuery::fuse(of(), [near(numbers)?.limit(6)?, near(numbers)?.limit(9)?]),
        ),
        (
            "refined with several vectors, among a fusion",
            By::Scores,
            VectorQuery::refine(
                late()?,
                numbers.late(2)?,
                [VectorQuery::fuse(of(), [near(numbers)?.limit(20)?, near(numbers)?.limit(8)?])],
            ),
        ),
        (
            "refined by terms, among the nearest twelve",
            By::Scores,
            VectorQuery::refine(sparse(), terms()?, [near(numbers)?.limit(12)?]),
        ),
        ("a formula of scores and conditions", By::Scores, VectorQuery::rescore(scores()?, arms(numbers)?)),
        ("a formula of values", By::Scores, VectorQuery::rescore(values()?, arms(numbers)?)),
        ("a formula with decays", By::Scores, VectorQuery::rescore(decays()?, arms(numbers)?)),
    ];
    Ok(all)
}

fn arms(numbers: &mut Numbers) -> Result<[VectorQuery; 2], VectorError> {
    Ok([VectorQuery::dense(numbers.dense())?, VectorQuery::dense(numbers.dense())?.limit(15)?])
}

fn scores() -> Result<Expression, VectorError> {
    let even = Expression::When(Box::new(Filter::Equals(key("even")?, true.into())));
    let labels = Expression::When(Box::new(Filter::AnyOf(key("label")?, vec!["red".into(), "blue".into()])));
    Ok(Expression::Sum(vec![
        Expression::Score(0),
        Expression::Negative(Box::new(Expression::Product(vec![Expression::Number(0.4), Expression::Score(1)]))),
        Expression::Product(vec![Expression::Number(0.3), even]),
        Expression::Quotient(Box::new(labels), Box::new(Expression::Number(4.0)), 0.0),
    ]))
}

fn values() -> Result<Expression, VectorError> {
    let rank = Expression::Absolute(Box::new(Expression::Value(key("rank")?, 0.0)));
    Ok(Expression::Sum(vec![
        Expression::Score(0),
        Expression::Product(vec![rank, Expression::Number(0.05)]),
        Expression::Value(key("missing")?, 0.7),
    ]))
}

fn decays() -> Result<Expression, VectorError> {
    let weight = || Ok::<_, VectorError>(Box::new(Expression::Value(key("weight")?, 0.0)));
    let from = Box::new(Expression::Distance(Place::new(5.0, 5.0)?, key("place")?, 2e6));
    let decay = |decay, of, target, scale| Expression::Decay { decay, of, target, scale, midpoint: 0.5 };
    Ok(Expression::Sum(vec![
        Expression::Score(0),
        decay(Decay::Linear, weight()?, 1.0, 6.0),
        decay(Decay::Exponential, weight()?, -2.0, 3.0),
        decay(Decay::Gauss, from, 0.0, 3e6),
    ]))
}

/// Filters of each kind, in words.
pub(super) fn filters() -> Result<Vec<(&'static str, Filter)>, VectorError> {
    let is = |path, value: FilterValue| Ok::<_, VectorError>(Filter::Equals(key(path)?, value));
    let even = is("even", true.into())?;
    let tags = Filter::AnyOf(key("nested.tags")?, vec!["t1".into(), "t2".into(), 3.into(), false.into()]);
    let both = Filter::All(vec![even.clone(), tags.clone()]);
    let labels = Filter::AnyOf(key("label")?, vec!["red".into(), "".into()]);
    let words = |words| Ok::<_, VectorError>(Filter::Words(key("title")?, words));
    let place = Place::new;
    let line = vec![place(-50.5, -30.5)?, place(40.5, -30.5)?, place(-5.5, 40.5)?, place(-50.5, -30.5)?];
    let (from, to) = (UNIX_EPOCH + Duration::from_secs(MARCH), UNIX_EPOCH + Duration::from_secs(MARCH + 90 * 86_400));
    let ids = vec![id("point:3")?, id("point:4")?, id("nobody's")?];
    let part = Filter::All(vec![is("n", 1.into())?, is("tag", "t1".into())?]);
    let three = vec![even.clone(), labels.clone(), is("open", true.into())?];
    Ok(vec![
        ("a truth value", even.clone()),
        ("not a truth value", even.clone().not()),
        ("a whole number", is("n", 7.into())?),
        ("a text where there are numbers", is("n", "7".into())?),
        ("a key that is not there", is("missing", 7.into())?),
        ("not what is not there", is("missing", 7.into())?.not()),
        ("one of several values in a list", tags.clone()),
        ("none of several values in a list", tags.clone().not()),
        ("two conditions", both.clone()),
        ("not two conditions", both.not()),
        ("two conditions that are denied", Filter::All(vec![even.clone().not(), tags.not().not()])),
        ("one of several kinds of values", Filter::AnyOf(key("mixed")?, vec!["x".into(), 1.into(), true.into()])),
        ("a key that looks like a reserved one", is("a_tenancy.life", "x".into())?),
        ("an indexed text", is("label", "red".into())?),
        ("one of two indexed texts", labels.clone()),
        ("not an indexed text", is("label", "red".into())?.not()),
        ("an indexed whole number", is("rank", 7.into())?),
        ("an indexed truth value", is("open", true.into())?),
        ("whole numbers in a range", Filter::Within(key("rank")?, Range::new(-3.0..=9.0)?)),
        ("numbers above one", Filter::Within(key("weight")?, Range::new((Excluded(0.5), Unbounded))?)),
        ("numbers in a range, not indexed", Filter::Within(key("n")?, Range::new(10.0..20.0)?)),
        ("points in time", Filter::During(key("since")?, Range::new(from..to)?)),
        ("all of two words", words(Words::All("fence tenant".into()))?),
        ("one of two words", words(Words::Any("life search".into()))?),
        ("two words in a row", words(Words::Phrase("fence tenant".into()))?),
        ("places in a circle", Filter::Inside(key("place")?, Area::Circle { center: place(3.5, 3.5)?, radius: 4e6 })),
        (
            "places in a box",
            Filter::Inside(
                key("place")?,
                Area::Box { north_west: place(-20.5, 30.5)?, south_east: place(45.5, -20.5)? },
            ),
        ),
        ("places in a polygon", Filter::Inside(key("place")?, Area::Polygon(line))),
        ("two items of a list or more", Filter::Items(key("parts")?, Range::new(2..)?)),
        ("a list without items", Filter::Items(key("parts")?, Range::new(..=0)?)),
        ("no value", Filter::IsEmpty(key("label")?)),
        ("some value", Filter::IsEmpty(key("parts")?).not()),
        ("null", Filter::IsNull(key("mixed")?)),
        ("ids", Filter::HasId(ids.clone())),
        ("other ids", Filter::HasId(ids).not()),
        ("points with a vector", Filter::HasVector(name("dot")?)),
        ("an object of a list", Filter::Nested(key("parts")?, Box::new(part))),
        ("a key of the objects of a list", is("parts[].tag", "t2".into())?),
        ("one of two conditions", Filter::Any(vec![is("open", true.into())?, labels])),
        ("two of three conditions", Filter::AtLeast(2, three)),
    ])
}

/// A vector that everything is compared with where it does not matter which.
pub(super) fn anything() -> Result<VectorQuery, VectorError> {
    VectorQuery::dense(vec![1.0; DIMENSION])?.limit(100)
}

/// The first of March 2026, in seconds.
const MARCH: u64 = 1_772_323_200;
