//! Searches, alone and several in one call.

use super::Differs;
use super::corpus::{self, Numbers};
use super::questions::{self, By, Question, anything};
use super::trial::{Fault, Trial, ensure, equal};
use crate::filter::Filter;
use crate::point::Hit;
use crate::query::VectorQuery;
use crate::tenant::Vectors;
use crate::vector::SparseVector;

/// Hits, scores and order are those of an exhaustive search, also after every point was written again.
///
/// In a partition from which nothing was deleted: engines go on counting the terms of deleted points for a while.
pub(super) async fn ranking(trial: &mut Trial<'_>) -> Result<(), Fault> {
    let mut numbers = Numbers::new(3);
    let points = corpus::points(&mut numbers)?;
    let (mine, plain) = trial.with(&points).await?;
    mine.upsert(points.clone()).await?;
    compare(&mut trial.asked, &mine, &plain, &questions::all(&mut numbers)?).await?;
    trial.clear(&mine, &points).await?;

    let twins = corpus::twins(&mut numbers)?;
    let (mine, _) = trial.with(&twins).await?;
    let terms = SparseVector::new(vec![3], vec![1.0])?;
    for (what, query) in
        [("dense, with ties", VectorQuery::dense(numbers.dense())?), ("sparse, with ties", VectorQuery::sparse(terms)?)]
    {
        trial.asks(what);
        let found = mine.query(&query.limit(MOST)?).await?;
        equal(found.len() as u64, twins.len() as u64, "equal points are all found")?;
        ensure(found.is_sorted_by(in_order), "equal scores come by id")?;
        ensure(found[0].score().to_bits() == found[1].score().to_bits(), "equal vectors have equal scores")?;
    }
    trial.clear(&mine, &twins).await
}

/// Each query of a call is answered in its place, also where one before it finds nothing.
pub(super) async fn batches(trial: &mut Trial<'_>) -> Result<(), Fault> {
    let mut numbers = Numbers::new(6);
    let points = corpus::points(&mut numbers)?;
    let (mine, plain) = trial.with(&points).await?;
    let near = |numbers: &mut Numbers| VectorQuery::dense(numbers.dense());
    let queries = [
        near(&mut numbers)?.limit(3)?,
        anything()?.filter(Filter::Equals(corpus::key("missing")?, 1.into()))?,
        near(&mut numbers)?.limit(40)?,
        anything()?.filter(Filter::AnyOf(corpus::key("label")?, vec![]))?,
        near(&mut numbers)?.filter(Filter::Equals(corpus::key("open")?, true.into()))?.limit(40)?,
        VectorQuery::nearest(corpus::name("late")?, numbers.late(2)?).limit(5)?,
    ];
    trial.asks("a batch of six queries");
    let (found, wanted) = (mine.query_batch(&queries).await?, plain.query_batch(&queries).await?);
    for (at, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
        trial.asks(format!("the query at place {} of a batch of six", at + 1));
        same_scores(found, wanted)?;
    }
    trial.clear(&mine, &points).await
}

/// Hits, scores and order of each query are those that the other has.
pub(super) async fn compare<Of>(
    asked: &mut String,
    mine: &Vectors<Of>,
    plain: &Vectors<Of>,
    questions: &[Question],
) -> Result<(), Fault> {
    for Question { what, query, by } in questions {
        asked.clone_from(what);
        let limit = query.hits();
        let found = mine.query(query).await?;
        let all = plain.query(&query.clone().limit(MOST)?).await?;
        same_scores_of(*by, &found, &all[..all.len().min(limit)])?;
        // By id: which of several with one score come within the limit is the engine's choice.
        for (at, hit) in found.iter().enumerate() {
            let Some(own) = all.iter().find(|other| other.id() == hit.id()) else {
                return ensure(false, "hits are those of an exhaustive search");
            };
            ensure(hit.payload() == own.payload(), "hits have their payloads")?;
            ensure(hit.origin() == own.origin(), "hits say where they come from")?;
            match by {
                By::Scores => near(at, hit, own, "a hit has its own score")?,
                By::Places => ensure(all[at].id() == hit.id(), "hits are in the order of an exhaustive search")?,
            }
        }
        if matches!(by, By::Scores) {
            ensure(found.is_sorted_by(in_order), "hits come by score, equal ones by id, each once")?;
        }
    }
    Ok(())
}

fn same_scores_of(by: By, found: &[Hit], wanted: &[Hit]) -> Result<(), Fault> {
    match by {
        By::Scores => same_scores(found, wanted),
        By::Places => equal(found.len() as u64, wanted.len() as u64, AS_MANY),
    }
}

/// As many hits, with the same scores in their order.
pub(super) fn same_scores(found: &[Hit], wanted: &[Hit]) -> Result<(), Fault> {
    equal(found.len() as u64, wanted.len() as u64, AS_MANY)?;
    let pairs = found.iter().zip(wanted).enumerate();
    pairs
        .into_iter()
        .try_for_each(|(at, (found, wanted))| near(at, found, wanted, "scores are those of an exhaustive search"))
}

fn near(at: usize, found: &Hit, wanted: &Hit, rule: &'static str) -> Result<(), Fault> {
    let (found, wanted) = (f64::from(found.score()), f64::from(wanted.score()));
    let differs = Differs { place: Some(at + 1), found, wanted };
    if (found - wanted).abs() < 1e-4 { Ok(()) } else { Err(Fault::Broken { rule, differs: Some(differs) }) }
}

fn in_order(one: &Hit, other: &Hit) -> bool {
    one.score() > other.score() || (one.score() == other.score() && one.id() < other.id())
}

const AS_MANY: &str = "hits are as many as an exhaustive search has";
/// As many as a query may ask for.
const MOST: usize = VectorQuery::MAX_LIMIT;
