//! The second look at what a store answered.

use std::collections::{HashMap, HashSet};

use tenancy_core::Denial;

use crate::backend::{ScoredPayload, StoredPayload};
use crate::filter::Condition;
use crate::id::{ExternalId, PointKey};
use crate::point::{FoundPoint, Hit};
use crate::points::{Keys, Owner};
use crate::request::{Find, Search};

/// Hits that are of those that were meant for sure.
pub(crate) struct Hits {
    pub(crate) hits: Vec<(PointKey, Hit)>,
    /// Those whose payload does not meet the caller's condition. Either the store ignored it, or the tenant changed
    /// the point while the store was looking.
    pub(crate) doubtful: HashSet<PointKey>,
}

/// The hits of a search, or a breach when one of them is somebody else's, was not asked for or comes twice.
pub(crate) fn hits(owner: &Owner, search: &Search, answers: Vec<ScoredPayload>) -> Result<Hits, Denial> {
    if answers.len() > search.limit() {
        return Err(Denial::StoreBreach);
    }
    let keys = owner.keys()?;
    let mut seen = HashSet::with_capacity(answers.len());
    let mut found = Hits { hits: Vec::with_capacity(answers.len()), doubtful: HashSet::new() };
    for ScoredPayload { score, stored } in answers {
        let (key, point) = own(&keys, stored)?;
        if score.is_nan() {
            return Err(Denial::StoreBreach);
        }
        if !seen.insert(key) {
            // An order by a list has the point at each of its items; the first is kept.
            match search.find() {
                Find::Ordered(_) => continue,
                Find::Nearest { .. }
                | Find::Mmr { .. }
                | Find::Recommend { .. }
                | Find::Discover { .. }
                | Find::Context { .. }
                | Find::Sample
                | Find::Fuse { .. }
                | Find::Rescore { .. }
                | Find::Refine { .. } => return Err(Denial::StoreBreach),
            }
        }
        if is_doubtful(search.condition(), &key, &point) {
            found.doubtful.insert(key);
        }
        found.hits.push((key, Hit { point, score }));
    }
    Ok(found)
}

/// The points of a look-up by id, or a breach when one of them was not asked for.
pub(crate) fn points<'a>(
    owner: &Owner,
    asked: &HashMap<PointKey, &'a ExternalId>,
    answers: Vec<StoredPayload>,
) -> Result<HashMap<&'a ExternalId, FoundPoint>, Denial> {
    let mut points = HashMap::with_capacity(answers.len());
    for (key, point) in all(owner, answers)? {
        let asked = asked.get(&key).ok_or(Denial::StoreBreach)?;
        if points.insert(*asked, point).is_some() {
            return Err(Denial::StoreBreach);
        }
    }
    Ok(points)
}

/// Stored points, each of which is this owner's.
pub(crate) fn all(owner: &Owner, answers: Vec<StoredPayload>) -> Result<Vec<(PointKey, FoundPoint)>, Denial> {
    let keys = owner.keys()?;
    answers.into_iter().map(|stored| own(&keys, stored)).collect()
}

/// A stored point whose tag is this owner's.
fn own(keys: &Keys<'_>, stored: StoredPayload) -> Result<(PointKey, FoundPoint), Denial> {
    let StoredPayload { tag, payload, vectors } = stored;
    let (id, key) = tag.ok_or(Denial::StoreBreach)?.check(keys)?;
    Ok((key, FoundPoint { id, payload, vectors, origin: keys.owner.origin() }))
}

/// Whether a point for sure does not meet a condition.
pub(crate) fn is_doubtful(condition: Option<&Condition>, key: &PointKey, point: &FoundPoint) -> bool {
    condition.is_some_and(|condition| condition.judge(key, &point.payload) == Some(false))
}
