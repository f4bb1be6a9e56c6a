//! The second look at what a store answered.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};
use tenancy_core::{Denial, Entered};

use crate::backend::{QueryRequest, ScoredPayload};
use crate::id::{ExternalId, PointKey};
use crate::point::{FoundPoint, Hit};
use crate::tag::{self, Checked};

/// The hits of a query, or a breach when one of them is not the tenant's, was not asked for or comes twice.
pub(crate) fn hits(
    entered: &Entered<'_>,
    request: &QueryRequest,
    answers: Vec<ScoredPayload>,
) -> Result<Vec<Hit>, Denial> {
    if answers.len() > request.limit() {
        return Err(Denial::StoreBreach);
    }
    let mut seen = HashSet::with_capacity(answers.len());
    answers
        .into_iter()
        .map(|ScoredPayload { score, payload }| {
            let Checked { id, key, payload } = tag::check(entered, payload)?;
            let wanted = request.filter().is_none_or(|filter| filter.matches(&payload));
            if score.is_nan() || !wanted || !seen.insert(key) {
                return Err(Denial::StoreBreach);
            }
            Ok(Hit { point: FoundPoint { id, payload }, score })
        })
        .collect()
}

/// The points of a look-up by id, or a breach when one of them was not asked for.
pub(crate) fn points<'a>(
    entered: &Entered<'_>,
    asked: &HashMap<PointKey, &'a ExternalId>,
    answers: Vec<Map<String, Value>>,
) -> Result<HashMap<&'a ExternalId, FoundPoint>, Denial> {
    let mut points = HashMap::with_capacity(answers.len());
    for payload in answers {
        let Checked { id, key, payload } = tag::check(entered, payload)?;
        let asked = asked.get(&key).ok_or(Denial::StoreBreach)?;
        if points.insert(*asked, FoundPoint { id, payload }).is_some() {
            return Err(Denial::StoreBreach);
        }
    }
    Ok(points)
}
