//! Searches. One over arms is composed here: ties between their answers go by external id, which the engine's own
//! fusion leaves to chance, and a payload that a formula does not expect fails no query.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use qdrant_edge::{PointId, Record, ScoredPoint, ScoringQuery};
use tenancy_core::Life;
use tenancy_vector::{
    BackendError, Condition, Expression, Find, Order, QueryRequest, ScoredPayload, Search, Vector, VectorName, fuse,
    in_order, reserved,
};

use super::read::stored;
use super::{Shard, diverse, tag_only};
use crate::lower::{self, Scoped};

/// A point that was found. Between equal scores the external id decides, which comes first.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    external: String,
    pub(super) id: PointId,
}

/// What a search found, the best first.
pub(super) type Ranked = Vec<(Key, f32)>;

impl Shard {
    pub(crate) fn query(&self, life: Life, request: &QueryRequest) -> Result<Vec<ScoredPayload>, BackendError> {
        self.ensure_made_for(request.schema())?;
        let ranked = self.search(life, request.search(), &[])?;
        let mut records = self.records(life, ranked.iter().map(|(key, _)| key.id), request.vectors())?;
        let mut answers = Vec::with_capacity(ranked.len());
        for (key, score) in ranked {
            // One that was deleted in the meantime is left out.
            let Some(record) = records.remove(&key.id) else { continue };
            answers.extend(stored(record)?.map(|stored| ScoredPayload::new(score, stored)));
        }
        Ok(answers)
    }

    fn search(&self, life: Life, search: &Search, around: &[&Condition]) -> Result<Ranked, BackendError> {
        let mut conditions = around.to_vec();
        conditions.extend(search.condition());
        let scoped = || Scoped::to(life)?.meeting(conditions.iter().copied());
        let arms = |arms: &[Search]| -> Result<Vec<Ranked>, BackendError> {
            arms.iter().map(|arm| self.search(life, arm, &conditions)).collect()
        };
        let mut found = match search.find() {
            Find::Nearest { .. } | Find::Recommend { .. } | Find::Discover { .. } | Find::Context { .. } => {
                self.ranked(search, scoped()?, search.limit())?
            }
            Find::Mmr { using, diversity, candidates, .. } => {
                let nearest = self.ranked(search, scoped()?, *candidates)?;
                let nearest = self.with_vectors(life, using, nearest.into_iter().take(*candidates).collect())?;
                diverse::pick(nearest, *diversity, search.limit())
            }
            Find::Sample => {
                self.ask(lower::SAMPLE, search.exact(), scoped()?, search.limit())?.into_iter().map(scored).collect()
            }
            Find::Ordered(order) => {
                self.ordered(order, &scoped()?, search.limit())?.into_iter().map(|key| (key, 1.0)).collect()
            }
            Find::Fuse { fusion, arms: wanted } => fuse(fusion, arms(wanted)?, usize::MAX),
            Find::Rescore { score, arms: wanted } => self.rescored(life, score, &arms(wanted)?)?,
            Find::Refine { arms: wanted, .. } => {
                let among = union(&arms(wanted)?).into_iter().map(|key| key.id);
                self.ranked(search, scoped()?.among(among), search.limit())?
            }
        };
        if let Some(threshold) = search.threshold() {
            found.retain(|(_, score)| *score >= threshold);
        }
        found.truncate(search.limit());
        Ok(found)
    }

    /// The best points by score. Where the last of them ties with others, all of those are looked at, up to a number.
    fn ranked(&self, search: &Search, scoped: Scoped, limit: usize) -> Result<Ranked, BackendError> {
        let Some(scoring) = lower::scoring(search.find()) else { return Ok(Vec::new()) };
        let mut asked = limit.saturating_add(SPARE);
        loop {
            let found = self.ask(scoring.clone(), search.exact(), scoped.clone(), asked)?;
            let found = in_order(found.into_iter().map(scored).collect());
            let score_at = |at: usize| found.get(at).map(|(_, score)| *score);
            let tied = found.len() >= asked && score_at(asked - 1) == score_at(limit - 1);
            if !tied || asked >= MOST_TIED {
                return Ok(found);
            }
            asked = asked.saturating_mul(4).min(MOST_TIED);
        }
    }

    /// Points in the order of a value, equal ones in that of their external ids; each once: the engine gives one with
    /// several values at each of them.
    pub(super) fn ordered(&self, order: &Order, scoped: &Scoped, limit: usize) -> Result<Vec<Key>, BackendError> {
        let mut asked = limit.saturating_add(SPARE);
        loop {
            let mut found = self.ask(lower::ordered(order)?, false, scoped.clone(), asked)?;
            let all = found.len() < asked;
            let mut seen = HashSet::with_capacity(found.len());
            found.retain(|(key, _)| seen.insert(key.id));
            let value_at = |at: usize| found.get(at).map(|(_, point)| point.order_value);
            let tied = found.len() <= limit || value_at(found.len() - 1) == value_at(limit - 1);
            if all || !tied || asked >= MOST_TIED && found.len() >= limit {
                for equal in found.chunk_by_mut(|(_, one), (_, two)| one.order_value == two.order_value) {
                    equal.sort_by(|(one, _), (two, _)| one.cmp(two));
                }
                return Ok(found.into_iter().map(|(key, _)| key).take(limit).collect());
            }
            asked = asked.saturating_mul(4);
        }
    }

    fn ask(
        &self,
        scoring: ScoringQuery,
        exact: bool,
        scoped: Scoped,
        limit: usize,
    ) -> Result<Vec<(Key, ScoredPoint)>, BackendError> {
        let found = self.engine.query(scoped, lower::query(scoring, exact, limit, tag_only()?))?;
        let keyed = found.into_iter().map(|point| {
            let external = point.payload.as_ref().and_then(|payload| reserved::text(&payload.0, reserved::ID));
            (Key { external: external.unwrap_or_default().to_owned(), id: point.id }, point)
        });
        Ok(keyed.collect())
    }

    /// What was found, each with its vector of a name.
    fn with_vectors(
        &self,
        life: Life,
        using: &VectorName,
        found: Ranked,
    ) -> Result<Vec<(Key, f32, Vector)>, BackendError> {
        let mut records = self.records(life, found.iter().map(|(key, _)| key.id), true)?;
        let mut with = Vec::with_capacity(found.len());
        for (key, score) in found {
            let Some(record) = records.remove(&key.id) else { continue };
            let vector = lower::from_engine(record.vector)?.remove(using);
            with.extend(vector.map(|vector| (key, score, vector)));
        }
        Ok(with)
    }

    fn rescored(
        &self,
        life: Life,
        score: &Expression<tenancy_vector::PointKey>,
        arms: &[Ranked],
    ) -> Result<Ranked, BackendError> {
        let keys = union(arms);
        let records = self.records(life, keys.iter().map(|key| key.id), false)?;
        let mut holding = Vec::new();
        for condition in score.conditions() {
            let scoped = Scoped::to(life)?.among(keys.iter().map(|key| key.id)).meeting([condition])?;
            let meeting = self.scroll(scoped, None, false.into(), false, keys.len())?;
            holding.push((condition, meeting.into_iter().map(|record| record.id).collect::<HashSet<_>>()));
        }
        let scores: Vec<HashMap<_, _>> =
            arms.iter().map(|arm| arm.iter().map(|(key, score)| (key.id, *score)).collect()).collect();
        let rescored = keys.into_iter().filter_map(|key| {
            let payload = records.get(&key.id)?.payload.as_ref()?;
            let given: Vec<_> = scores.iter().map(|arm| arm.get(&key.id).copied().unwrap_or_default()).collect();
            let holds = |condition: &Condition| {
                holding.iter().any(|(one, meeting)| std::ptr::eq(*one, condition) && meeting.contains(&key.id))
            };
            let score = score.evaluate(&payload.0, &given, &holds);
            Some((key, score))
        });
        Ok(in_order(rescored.collect()))
    }

    pub(super) fn records(
        &self,
        life: Life,
        ids: impl Iterator<Item = PointId>,
        vectors: bool,
    ) -> Result<BTreeMap<PointId, Record>, BackendError> {
        let ids: Vec<_> = ids.collect();
        let limit = ids.len();
        let found = self.scroll(Scoped::to(life)?.among(ids), None, true.into(), vectors, limit)?;
        Ok(found.into_iter().map(|record| (record.id, record)).collect())
    }
}

fn scored((key, point): (Key, ScoredPoint)) -> (Key, f32) {
    (key, point.score)
}

fn union(arms: &[Ranked]) -> BTreeSet<Key> {
    arms.iter().flatten().map(|(key, _)| key.clone()).collect()
}

/// How many more points than wanted are looked at first, so that a tie at the end is seen.
const SPARE: usize = 8;

/// How many points may tie with the last one wanted and still be put in order.
const MOST_TIED: usize = 20_000;
