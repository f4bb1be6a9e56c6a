//! What writes leave.

use serde_json::{Value, json};

use super::corpus::{self, DIMENSION, Numbers, id, key, name, numbered, object};
use super::questions::anything;
use super::reads::{read, same_points};
use super::trial::{Fault, Trial, ensure, equal};
use crate::error::VectorError;
use crate::filter::{Filter, Range};
use crate::id::ExternalId;
use crate::name::VectorName;
use crate::point::{Found, Point};
use crate::query::VectorQuery;
use crate::tenant::{Change, Scroll, Select};
use crate::vector::{DenseVector, SparseVector};

/// Each kind of change leaves what it leaves in a plain back end, and a neighbour's points of the same ids as they were.
pub(super) async fn changes(trial: &mut Trial<'_>) -> Result<(), Fault> {
    let mut numbers = Numbers::new(12);
    let points = corpus::points(&mut numbers)?;
    let (mine, plain) = trial.with(&points).await?;
    let (theirs, untouched) = (trial.theirs()?, trial.plain(trial.two)?);
    for neighbour in [&theirs, &untouched] {
        neighbour.upsert(points.clone()).await?;
    }
    let all = Scroll::new().limit(100)?.with_vectors();
    for (what, changes) in each_kind(&mut numbers)? {
        trial.asks(what);
        mine.change(changes.clone()).await?;
        plain.change(changes).await?;
        same_points(&read(&mine, &all).await?, &read(&plain, &all).await?)?;
    }
    trial.asks("the points of a neighbour with the same ids, after every kind of change");
    same_points(&read(&theirs, &all).await?, &read(&untouched, &all).await?)?;
    trial.asks("a deletion of all");
    for tenant in [&mine, &theirs] {
        tenant.change(vec![Change::Delete(Select::All)]).await?;
        equal(tenant.count(None).await?, 0, "all points can be deleted")?;
    }
    Ok(())
}

/// A change of each kind, in words.
fn each_kind(numbers: &mut Numbers) -> Result<Vec<(&'static str, Vec<Change>)>, VectorError> {
    let named = |n: i64| id(&format!("point:{n}"));
    let ids = |numbers: &[i64]| {
        let ids = numbers.iter().map(|n| named(*n)).collect::<Result<_, VectorError>>()?;
        Ok::<_, VectorError>(Select::Ids(ids))
    };
    let is = |path, value: bool| Ok::<_, VectorError>(Filter::Equals(key(path)?, value.into()));
    let matching = |path, value| Ok::<_, VectorError>(Select::Matching(is(path, value)?));
    let mark = |name: &str, value: Value| object(json!({ name: value }));
    // Points of another content than those that are there under the same ids.
    let other = |n: i64, numbers: &mut Numbers| {
        let point = Point::new(named(n)?, mark("other", json!(n)))?;
        Ok::<_, VectorError>(point.with(VectorName::dense(), DenseVector::new(numbers.dense())?))
    };
    let others = |which: &[i64], numbers: &mut Numbers| {
        which.iter().map(|n| other(*n, numbers)).collect::<Result<Vec<_>, VectorError>>()
    };
    let terms = || SparseVector::new(vec![4, 90], vec![0.5, 2.0]);
    let vectors = vec![
        (
            named(14)?,
            vec![
                (VectorName::dense(), DenseVector::new(numbers.dense())?.into()),
                (VectorName::sparse(), terms()?.into()),
            ],
        ),
        (named(15)?, vec![(name("late")?, numbers.late(3)?.into()), (name("body")?, "scope of a realm".into())]),
        (id("nobody's")?, vec![(VectorName::dense(), DenseVector::new(numbers.dense())?.into())]),
    ];
    let high = Filter::Within(key("rank")?, Range::new(5.0..)?);
    Ok(vec![
        ("an upsert over two points", vec![Change::Upsert(others(&[0, 1], numbers)?)]),
        (
            "an insertion of a point that is there and of one that is not",
            vec![Change::Insert(others(&[2, 40], numbers)?)],
        ),
        (
            "an update of a point that is there and of one that is not",
            vec![Change::Update(others(&[3, 41], numbers)?, None)],
        ),
        (
            "an update of the points that meet a filter",
            vec![Change::Update(others(&[4, 5, 6, 42], numbers)?, Some(is("even", true)?))],
        ),
        (
            "an update of the points that have a vector",
            vec![Change::Update(others(&[7, 8], numbers)?, Some(Filter::HasVector(name("dot")?)))],
        ),
        ("new vectors of two points and of one that is not there", vec![Change::SetVectors(vectors)]),
        (
            "a text without words, which takes a vector away",
            vec![Change::SetVectors(vec![(named(16)?, vec![(name("body")?, "..".into())])])],
        ),
        ("vectors taken away by ids", vec![Change::DeleteVectors(ids(&[18, 19, 99])?, vec![name("dot")?])]),
        (
            "vectors taken away by a filter",
            vec![Change::DeleteVectors(Select::Matching(high), vec![name("late")?, name("dot")?])],
        ),
        (
            "a key set by ids",
            vec![Change::SetPayload(ids(&[20, 21, 99])?, mark("by_id", json!([1, {"x": null}])), None)],
        ),
        (
            "a key set by a filter",
            vec![Change::SetPayload(matching("open", true)?, mark("by_filter", json!(true)), None)],
        ),
        ("a key set in all", vec![Change::SetPayload(Select::All, mark("everywhere", json!("x")), None)]),
        (
            "a key set at a path, where there is an object and where there is none",
            vec![Change::SetPayload(ids(&[21, 22, 23])?, mark("within", json!(1)), Some(key("nested.deep")?))],
        ),
        (
            "a key set at a path through what is no object",
            vec![Change::SetPayload(ids(&[25])?, mark("x", json!(1)), Some(key("n")?))],
        ),
        ("a key taken away with null", vec![Change::SetPayload(ids(&[26, 27])?, mark("mixed", json!(null)), None)]),
        (
            "whole payloads replaced",
            vec![Change::OverwritePayload(vec![
                (named(28)?, mark("new", json!(1))),
                (id("nobody's")?, mark("new", json!(1))),
            ])],
        ),
        (
            "keys taken away by ids",
            vec![Change::DeletePayload(ids(&[29, 31])?, vec![key("nested.tags")?, key("title")?])],
        ),
        ("keys taken away by a filter", vec![Change::DeletePayload(matching("even", true)?, vec![key("by_filter")?])]),
        (
            "several changes of the same points in their order",
            vec![
                Change::SetPayload(ids(&[33])?, mark("turn", json!(1)), None),
                Change::SetPayload(ids(&[33])?, mark("turn", json!(2)), None),
                Change::Delete(ids(&[34])?),
                Change::Upsert(vec![numbered(34, numbers)?]),
                Change::Upsert(vec![numbered(35, numbers)?]),
                Change::Delete(ids(&[35])?),
            ],
        ),
        ("a deletion by ids", vec![Change::Delete(ids(&[36, 37, 99])?)]),
        ("a deletion by a filter", vec![Change::Delete(matching("open", true)?)]),
    ])
}

/// More than a thousand points go in at once, and come back on a page, in a look-up and a search.
pub(super) async fn large_partitions(trial: &mut Trial<'_>) -> Result<(), Fault> {
    let mut numbers = Numbers::new(13);
    let point = |n: usize| {
        Point::hybrid(id(&format!("point:{n}"))?, numbers.dense(), SparseVector::empty(), object(json!({"rank": n})))
    };
    let points = (0..MANY).map(point).collect::<Result<Vec<_>, _>>()?;
    let (mine, plain) = trial.with(&points).await?;
    trial.asks(format!("a count of {MANY} points"));
    equal(mine.count(None).await?, MANY as u64, "all points of a large write are there")?;
    trial.asks(format!("{MANY} points by id"));
    let ids: Vec<ExternalId> = points.iter().map(Point::id).cloned().collect();
    let there = mine.get(&ids).await?.iter().filter(|found| found.point().is_some()).count();
    equal(there as u64, MANY as u64, "a large look-up finds all points")?;
    trial.asks(format!("{MANY} points on pages of {}", VectorQuery::MAX_LIMIT));
    let page = Scroll::new().limit(VectorQuery::MAX_LIMIT)?.with_vectors();
    same_points(&read(&mine, &page).await?, &read(&plain, &page).await?)?;
    trial.asks(format!("dense, {} at most", VectorQuery::MAX_LIMIT));
    let hits = mine.query(&anything()?.limit(VectorQuery::MAX_LIMIT)?).await?;
    equal(hits.len() as u64, VectorQuery::MAX_LIMIT as u64, "hits are as many as were asked for, and are there")?;
    trial.asks(format!("a key set in {MANY} points"));
    mine.change(vec![Change::SetPayload(Select::All, object(json!({"seen": true})), None)]).await?;
    let seen = Filter::Equals(key("seen")?, true.into());
    equal(mine.count(Some(&seen)).await?, MANY as u64, "a change reaches all points")?;
    trial.clear(&mine, &points).await
}

/// Two tenants with the same ids have points of their own.
pub(super) async fn separation(trial: &mut Trial<'_>) -> Result<(), Fault> {
    let (mine, theirs) = (trial.mine()?, trial.theirs()?);
    let names = ["shared", "a:b", "e\u{301}", "\u{e9}", "Shared"];
    let ids = names.map(corpus::id).into_iter().collect::<Result<Vec<_>, _>>()?;
    let (all, mut numbers) = (names.len() as u64, Numbers::new(1));
    trial.asks("points of two tenants with the same ids");
    for tenant in [&mine, &theirs] {
        let points = names.map(|name| corpus::point(name, &mut numbers)).into_iter().collect::<Result<_, _>>()?;
        tenant.upsert(points).await?;
        equal(tenant.count(None).await?, all, "ids are compared by bytes, within a tenant")?;
    }
    trial.asks("one of them deleted");
    equal(mine.delete(&ids[..1]).await?.removed(), 1, "a point of one's own is deleted")?;
    equal(theirs.count(None).await?, all, "another tenant's point of the same id stays")?;
    ensure(theirs.get(&ids).await?.iter().all(|found| found.point().is_some()), "and is found")?;
    ensure(mine.get(&ids[..1]).await? == [Found::NotVisible], "a deleted point is not found")?;
    equal(mine.query(&anything()?).await?.len() as u64, all - 1, "a query sees one's own points only")?;
    trial.asks("all of them deleted");
    let _all_gone = (mine.delete(&ids).await?, theirs.delete(&ids).await?);
    equal(mine.count(None).await? + theirs.count(None).await?, 0, "all points can be deleted")
}

/// A point with an id that is there replaces it as a whole.
pub(super) async fn replacing(trial: &mut Trial<'_>) -> Result<(), Fault> {
    trial.asks("a point written again, without terms and payload");
    let mine = trial.mine()?;
    let mut numbers = Numbers::new(2);
    let first =
        corpus::point("again", &mut numbers)?.with(VectorName::sparse(), SparseVector::new(vec![3], vec![1.0])?);
    let second = Point::hybrid(id("again")?, vec![1.0; DIMENSION], SparseVector::empty(), object(json!({})))?;
    mine.upsert(vec![first.clone()]).await?;
    mine.upsert(vec![second]).await?;
    equal(mine.count(None).await?, 1, "a second upsert of an id makes no second point")?;
    let found = mine.get_with_vectors(std::slice::from_ref(first.id())).await?;
    let point = found.first().and_then(Found::point);
    ensure(point.is_some_and(|point| point.payload().is_empty()), "the payload is replaced")?;
    ensure(point.is_some_and(|point| point.vectors().len() == 1), "the vectors are replaced")?;
    let terms = VectorQuery::sparse(SparseVector::new(vec![3], vec![1.0])?)?;
    ensure(mine.query(&terms).await?.is_empty(), "a vector that was replaced finds nothing")?;
    trial.clear(&mine, &[first]).await
}

const MANY: usize = 1200;
