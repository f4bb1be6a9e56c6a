//! The plain back end: everything in memory, everything looked at.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde_json::{Map, Value};
use tenancy_core::{Life, StoreVerdict};
use uuid::Uuid;

use crate::backend::{Arm, QueryRequest, ScoredPayload, TaggedPoint, UpsertRequest, VectorBackend};
use crate::error::BackendError;
use crate::fusion::rank;
use crate::id::PointKey;
use crate::reserved;
use crate::schema::Schema;
use crate::scope::VectorScope;
use crate::vector::SparseVector;

/// Keeps points in memory and looks at each of them for every query: slow, and exact. Other back ends are compared
/// with it. Clones share the points.
#[derive(Clone, Default)]
pub struct ReferenceBackend {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    partitions: HashMap<String, Points>,
    dropped: HashSet<String>,
}

struct Points {
    schema: Schema,
    by_id: HashMap<Uuid, TaggedPoint>,
}

impl ReferenceBackend {
    /// A back end without points.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl VectorBackend for ReferenceBackend {
    async fn upsert(&self, scope: VectorScope<'_>, request: UpsertRequest) -> Result<(), BackendError> {
        let mut state = self.state();
        if state.dropped.contains(scope.partition()) {
            return Err(BackendError::Dropped);
        }
        let schema = request.schema();
        let points = state
            .partitions
            .entry(scope.partition().to_owned())
            .or_insert_with(|| Points { schema, by_id: HashMap::new() });
        if points.schema != schema {
            return Err(BackendError::SchemaMismatch);
        }
        let mut fresh = HashMap::with_capacity(request.points().len());
        for point in request.into_points() {
            let id = point.key().engine_id();
            let taken = points.by_id.get(&id).is_some_and(|there| !is_of(there, scope.life(), point.key()));
            if taken || fresh.insert(id, point).is_some() {
                return Err(BackendError::Collision);
            }
        }
        points.by_id.extend(fresh);
        Ok(())
    }

    async fn query(&self, scope: VectorScope<'_>, request: QueryRequest) -> Result<Vec<ScoredPayload>, BackendError> {
        let state = self.state();
        let Some(points) = state.partitions.get(scope.partition()) else { return Ok(Vec::new()) };
        let own: Vec<_> = points.of(scope.life()).collect();
        let wanted = |point: &&&TaggedPoint| request.filter().is_none_or(|filter| filter.matches(point.payload()));
        let arms = request.arms().iter().map(|arm| {
            let rarity = Rarity::of(&own);
            let scores = own.iter().filter(wanted).filter_map(|point| {
                let score = match arm {
                    Arm::Dense(query) => cosine(query, point.dense()),
                    Arm::Sparse(query) => overlap(query, point.sparse(), &rarity)?,
                };
                Some(((reserved::text(point.payload(), reserved::ID), point.key().engine_id()), score))
            });
            let mut best = rank(vec![scores.collect()], usize::MAX);
            best.truncate(request.depth());
            best
        });
        let ranked = rank(arms.collect(), request.limit());
        let answers = ranked.into_iter().filter_map(|((_, id), score)| Some((score, points.by_id.get(&id)?)));
        Ok(answers.map(|(score, point)| ScoredPayload::new(score, point.payload().clone())).collect())
    }

    async fn retrieve(
        &self,
        scope: VectorScope<'_>,
        keys: Vec<PointKey>,
    ) -> Result<Vec<Map<String, Value>>, BackendError> {
        let state = self.state();
        let Some(points) = state.partitions.get(scope.partition()) else { return Ok(Vec::new()) };
        let there = keys.iter().filter_map(|key| points.get(scope.life(), key));
        Ok(there.map(|point| point.payload().clone()).collect())
    }

    async fn delete(&self, scope: VectorScope<'_>, keys: Vec<PointKey>) -> Result<u64, BackendError> {
        let mut state = self.state();
        let Some(points) = state.partitions.get_mut(scope.partition()) else { return Ok(0) };
        let there: Vec<_> = keys.iter().filter(|key| points.get(scope.life(), key).is_some()).collect();
        for key in &there {
            points.by_id.remove(&key.engine_id());
        }
        Ok(there.len() as u64)
    }

    async fn count(&self, scope: VectorScope<'_>) -> Result<u64, BackendError> {
        let state = self.state();
        Ok(state.partitions.get(scope.partition()).map_or(0, |points| points.of(scope.life()).count() as u64))
    }

    async fn drop_partition(&self, scope: VectorScope<'_>) -> Result<(), BackendError> {
        let mut state = self.state();
        state.partitions.remove(scope.partition());
        state.dropped.insert(scope.partition().to_owned());
        Ok(())
    }

    async fn verify_dropped(&self, scope: VectorScope<'_>) -> Result<StoreVerdict, BackendError> {
        let remains = self.state().partitions.contains_key(scope.partition());
        Ok(if remains { StoreVerdict::Failed } else { StoreVerdict::Verified })
    }
}

impl Points {
    fn of(&self, life: Life) -> impl Iterator<Item = &TaggedPoint> {
        self.by_id.values().filter(move |point| lives(point, life))
    }

    fn get(&self, life: Life, key: &PointKey) -> Option<&TaggedPoint> {
        self.by_id.get(&key.engine_id()).filter(|point| is_of(point, life, key))
    }
}

impl fmt::Debug for ReferenceBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReferenceBackend({} partitions)", self.state().partitions.len())
    }
}

fn lives(point: &TaggedPoint, life: Life) -> bool {
    reserved::text(point.payload(), reserved::LIFE) == Some(&reserved::life(life))
}

fn is_of(point: &TaggedPoint, life: Life, key: &PointKey) -> bool {
    lives(point, life) && point.key() == key
}

/// In how many of the points each term is.
struct Rarity {
    points: f32,
    holding: HashMap<u32, f32>,
}

impl Rarity {
    fn of(points: &[&TaggedPoint]) -> Self {
        let mut rarity = Self { points: 0.0, holding: HashMap::new() };
        for point in points.iter().filter(|point| !point.sparse().is_empty()) {
            rarity.points += 1.0;
            for index in point.sparse().indices() {
                *rarity.holding.entry(*index).or_default() += 1.0;
            }
        }
        rarity
    }

    fn weight(&self, index: u32) -> f32 {
        let holding = self.holding.get(&index).copied().unwrap_or_default();
        ((self.points - holding + 0.5) / (holding + 0.5) + 1.0).ln()
    }
}

fn overlap(query: &SparseVector, point: &SparseVector, rarity: &Rarity) -> Option<f32> {
    let terms = query.indices().iter().zip(query.values());
    let common = terms.filter_map(|(index, weight)| {
        let place = point.indices().binary_search(index).ok()?;
        Some(weight * rarity.weight(*index) * point.values()[place])
    });
    common.reduce(|sum, term| sum + term)
}

fn cosine(one: &[f32], two: &[f32]) -> f32 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let lengths = (product(one, one) * product(two, two)).sqrt();
    if lengths > 0.0 { product(one, two) / lengths } else { 0.0 }
}
