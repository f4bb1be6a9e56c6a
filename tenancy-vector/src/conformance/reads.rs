//! Reads that are no searches by a vector.

use std::collections::BTreeMap;

use super::corpus::{self, Numbers, key};
use super::questions::{anything, filters};
use super::ranking::same_scores;
use super::trial::{Fault, Trial, ensure, equal};
use crate::error::VectorError;
use crate::filter::Filter;
use crate::id::ExternalId;
use crate::name::VectorName;
use crate::point::{Found, FoundPoint, Hit};
use crate::query::VectorQuery;
use crate::request::{Order, OrderFrom};
use crate::tenant::{Change, Scroll, Select, TenantVectors};
use crate::vector::Vector;

/// A partition that nobody wrote to answers like one without points.
pub(super) async fn empty_partitions(trial: &mut Trial<'_>) -> Result<(), Fault> {
    trial.asks("reads and changes where nobody wrote");
    let mine = trial.mine()?;
    let id = corpus::id("nobody's")?;
    equal(
        mine.count(None).await?,
        0,
        "the partition of a tenant without points counts none (take tenants that are new to it)",
    )?;
    ensure(mine.get(std::slice::from_ref(&id)).await? == [Found::NotVisible], "an empty partition holds no id")?;
    ensure(mine.query(&anything()?).await?.is_empty(), "an empty partition has no hits")?;
    let batch = mine.query_batch(&[anything()?, VectorQuery::sample()]).await?;
    ensure(batch.iter().all(Vec::is_empty), "an empty partition has no hits")?;
    ensure(mine.facet(&key("label")?, None, 9).await?.is_empty(), "an empty partition has no values")?;
    for scroll in [Scroll::new(), Scroll::new().order(Order::ascending(key("rank")?))] {
        ensure(mine.scroll(&scroll, None).await?.points().is_empty(), "an empty partition has no pages")?;
    }
    equal(mine.delete(&[id]).await?.removed(), 0, "nothing is deleted from an empty partition")?;
    let seen = corpus::object(serde_json::json!({"seen": true}));
    mine.change(vec![Change::SetPayload(Select::All, seen, None), Change::Delete(Select::All)]).await?;
    equal(mine.count(None).await?, 0, "a change of what is not there makes no points")
}

/// As many points meet each filter as there are by a look at each.
pub(super) async fn counts(trial: &mut Trial<'_>) -> Result<(), Fault> {
    let points = corpus::points(&mut Numbers::new(7))?;
    let (mine, plain) = trial.with(&points).await?;
    trial.asks("a count of all");
    equal(mine.count(None).await?, points.len() as u64, "all points are counted")?;
    for (what, filter) in filters()? {
        trial.asks(format!("a count, filter: {what}"));
        let (found, wanted) = (mine.count(Some(&filter)).await?, plain.count(Some(&filter)).await?);
        equal(found, wanted, "points that meet a filter are counted")?;
    }
    trial.clear(&mine, &points).await
}

/// Values come with how often they are there, the most frequent first.
pub(super) async fn facets(trial: &mut Trial<'_>) -> Result<(), Fault> {
    let points = corpus::points(&mut Numbers::new(8))?;
    let (mine, plain) = trial.with(&points).await?;
    let even = Filter::Equals(key("even")?, true.into());
    for path in ["label", "rank", "open"] {
        for (narrowed, filter) in [("no filter", None), ("a truth value", Some(&even))] {
            for limit in [2, 100] {
                trial.asks(format!("the values of {path}, {limit} at most, filter: {narrowed}"));
                let (path, narrowed) = (key(path)?, filter);
                let (found, wanted) =
                    (mine.facet(&path, narrowed, limit).await?, plain.facet(&path, narrowed, limit).await?);
                equal(found.len() as u64, wanted.len() as u64, "there are as many values")?;
                for (found, wanted) in found.iter().zip(&wanted) {
                    equal(found.count(), wanted.count(), "a value comes with its count, the most frequent first")?;
                    ensure(found.value() == wanted.value(), "equally frequent values come in their order")?;
                }
            }
        }
    }
    trial.clear(&mine, &points).await
}

/// Every point is on one page, in the order that is asked for.
pub(super) async fn pages(trial: &mut Trial<'_>) -> Result<(), Fault> {
    let points = corpus::points(&mut Numbers::new(9))?;
    let (mine, plain) = trial.with(&points).await?;
    let even = Filter::Equals(key("even")?, true.into());
    let rank = || key("rank");
    for (what, scroll) in [
        ("pages", Scroll::new()),
        ("pages, filter: a truth value", Scroll::new().filter(even.clone())),
        ("pages in the order of a whole number", Scroll::new().order(Order::ascending(rank()?))),
        ("pages in the falling order of a number", Scroll::new().order(Order::descending(key("weight")?))),
        (
            "pages in the order of a whole number, from a value, filter: a truth value",
            Scroll::new().order(Order::ascending(rank()?).starting_at(OrderFrom::Integer(-6))).filter(even),
        ),
        ("pages in the falling order of a point in time", Scroll::new().order(Order::descending(key("since")?))),
    ] {
        for limit in [7, 100] {
            trial.asks(format!("{what}, {limit} points each, with vectors"));
            let scroll = scroll.clone().limit(limit)?.with_vectors();
            let (found, wanted) = (paged(&mine, &scroll).await?, paged(&plain, &scroll).await?);
            same_points(&found.concat(), &wanted.concat())?;
            // The handle leaves out what does not meet the filter, so that a page of others is too small.
            let sizes = |pages: &[Vec<FoundPoint>]| pages.iter().map(Vec::len).collect::<Vec<_>>();
            ensure(sizes(&found) == sizes(&wanted), "a page has as many points as it may, as long as there are more")?;
        }
    }
    trial.clear(&mine, &points).await
}

/// Points are found by their ids, in the places of the ids, and hits with their vectors.
pub(super) async fn lookups(trial: &mut Trial<'_>) -> Result<(), Fault> {
    let points = corpus::points(&mut Numbers::new(10))?;
    let (mine, plain) = trial.with(&points).await?;
    let ids =
        ["point:3", "nobody's", "point:0", "point:17"].map(corpus::id).into_iter().collect::<Result<Vec<_>, _>>()?;
    let those = |found: Vec<Found>| found.into_iter().filter_map(|found| found.point().cloned()).collect::<Vec<_>>();
    trial.asks("four ids, one of them nobody's");
    let (found, wanted) = (mine.get(&ids).await?, plain.get(&ids).await?);
    let there = |found: &[Found]| found.iter().map(|found| found.point().is_some()).collect::<Vec<_>>();
    ensure(there(&found) == there(&wanted), "a point is found by its id, and nobody's is not")?;
    let payloads = |found: Vec<Found>| those(found).into_iter().map(FoundPoint::into_parts).collect::<Vec<_>>();
    ensure(payloads(found) == payloads(wanted), "a point has its payload")?;
    trial.asks("four ids, with vectors");
    let (found, wanted) = (mine.get_with_vectors(&ids).await?, plain.get_with_vectors(&ids).await?);
    same_points(&those(found), &those(wanted))?;
    trial.asks("dense, 40 at most, with vectors");
    let query = anything()?.with_vectors();
    let (found, wanted) = (mine.query(&query).await?, plain.query(&query).await?);
    same_scores(&found, &wanted)?;
    let of = |hits: Vec<Hit>| {
        let mut points: Vec<_> = hits.into_iter().map(|hit| hit.point().clone()).collect();
        points.sort_by(|one, other| one.id().cmp(other.id()));
        points
    };
    same_points(&of(found), &of(wanted))?;
    trial.clear(&mine, &points).await
}

/// Points by chance are one's own, each once, and as many as were asked for; and how near they are to each other.
pub(super) async fn samples(trial: &mut Trial<'_>) -> Result<(), Fault> {
    let points = corpus::points(&mut Numbers::new(11))?;
    let (mine, plain) = trial.with(&points).await?;
    let even = Filter::Equals(key("even")?, true.into());
    for (what, query, wanted) in [
        ("by chance, 100 at most", VectorQuery::sample().limit(100)?, 40),
        ("by chance, 7 at most", VectorQuery::sample().limit(7)?, 7),
        ("by chance, filter: a truth value", VectorQuery::sample().filter(even.clone())?.limit(100)?, 20),
        // The handle leaves out what does not meet the filter, so that a sample of others is too small.
        ("by chance, 9 at most, filter: a truth value", VectorQuery::sample().filter(even.clone())?.limit(9)?, 9),
    ] {
        trial.asks(what);
        equal(mine.query(&query).await?.len() as u64, wanted, "a sample is as large as it can be")?;
    }
    for (what, filter) in [("no filter", None), ("a truth value", Some(&even))] {
        trial.asks(format!("how near points are to each other, filter: {what}"));
        let (found, wanted) = (neighbours(&mine, filter).await?, neighbours(&plain, filter).await?);
        equal(found.len() as u64, wanted.len() as u64, "each point has as many neighbours")?;
        let near =
            |(pair, score): (_, &f32)| wanted.get(pair).is_some_and(|wanted: &f32| (wanted - score).abs() < 1e-4);
        ensure(found.iter().all(near), "the neighbours of a point are the nearest, with their scores")?;
    }
    trial.clear(&mine, &points).await
}

type Neighbours = BTreeMap<(ExternalId, ExternalId), f32>;

async fn neighbours(mine: &TenantVectors, filter: Option<&Filter>) -> Result<Neighbours, VectorError> {
    let near = mine.matrix(&VectorName::dense(), filter, TenantVectors::MAX_SAMPLE, 3).await?;
    Ok(near.into_iter().map(|pair| ((pair.one().clone(), pair.other().clone()), pair.score())).collect())
}

/// All points, in the order of their pages.
pub(super) async fn read(mine: &TenantVectors, scroll: &Scroll) -> Result<Vec<FoundPoint>, VectorError> {
    Ok(paged(mine, scroll).await?.concat())
}

/// The pages. There are too many of them where a back end goes round in circles.
async fn paged(mine: &TenantVectors, scroll: &Scroll) -> Result<Vec<Vec<FoundPoint>>, VectorError> {
    let (mut pages, mut from) = (Vec::new(), None);
    loop {
        let page = mine.scroll(scroll, from.as_ref()).await?;
        from = page.next().cloned();
        pages.push(page.into_points());
        if from.is_none() || pages.len() > 100 {
            return Ok(pages);
        }
    }
}

/// The same points in the same order, with the same payloads and vectors.
pub(super) fn same_points(found: &[FoundPoint], wanted: &[FoundPoint]) -> Result<(), Fault> {
    equal(found.len() as u64, wanted.len() as u64, "there are as many points")?;
    for (found, wanted) in found.iter().zip(wanted) {
        ensure(found.id() == wanted.id(), "each point is there once, in its order")?;
        ensure(found.payload() == wanted.payload(), "a point has its payload")?;
        let (mine, theirs) = (found.vectors(), wanted.vectors());
        ensure(mine.keys().eq(theirs.keys()), "a point has the vectors that it was given, and no others")?;
        ensure(
            mine.values().zip(theirs.values()).all(|(one, other)| alike(one, other)),
            "a vector is what was written",
        )?;
    }
    Ok(())
}

fn alike(one: &Vector, other: &Vector) -> bool {
    let near = |one: &[f32], other: &[f32]| {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| (one - other).abs() < 1e-4)
    };
    match (one, other) {
        (Vector::Dense(one), Vector::Dense(other)) => near(one.values(), other.values()),
        (Vector::Sparse(one), Vector::Sparse(other)) => {
            one.indices() == other.indices() && near(one.values(), other.values())
        }
        (Vector::Multi(one), Vector::Multi(other)) => {
            one.rows().len() == other.rows().len()
                && one.rows().iter().zip(other.rows()).all(|(one, other)| near(one, other))
        }
        (Vector::Dense(_) | Vector::Sparse(_) | Vector::Multi(_), _) => false,
    }
}
