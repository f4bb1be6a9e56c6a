//! The plain back end: everything in memory, everything looked at.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tenancy_core::{Life, StoreVerdict};
use uuid::Uuid;

use crate::backend::{ScoredPayload, StoredPayload, VectorBackend};
use crate::error::BackendError;
use crate::exact::{self, Corpus, meets, normalize};
use crate::filter::FilterValue;
use crate::id::PointKey;
use crate::request::{
    CountRequest, FacetRequest, Position, QueryRequest, ScrollRequest, Selector, TaggedPoint, UpsertMode, Write,
    WriteRequest,
};
use crate::reserved;
use crate::schema::Schema;
use crate::scope::{DropScope, VectorScope, WriteScope};

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
    by_id: BTreeMap<Uuid, TaggedPoint>,
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

    /// Reads in a partition; `T::default()` where there is none.
    fn read<T: Default>(&self, scope: &VectorScope<'_>, act: impl FnOnce(&Points) -> T) -> T {
        self.state().partitions.get(scope.partition()).map(act).unwrap_or_default()
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl VectorBackend for ReferenceBackend {
    async fn prepare(&self, _schema: &Schema) -> Result<(), BackendError> {
        Ok(())
    }

    async fn write(&self, scope: &WriteScope<'_>, request: WriteRequest) -> Result<(), BackendError> {
        let mut state = self.state();
        if state.dropped.contains(scope.partition()) {
            return Err(BackendError::Dropped);
        }
        let (schema, writes) = request.into_parts();
        let stores = writes.iter().any(|write| matches!(write, Write::Upsert { .. }));
        if !stores && !state.partitions.contains_key(scope.partition()) {
            return Ok(());
        }
        let points = state
            .partitions
            .entry(scope.partition().to_owned())
            .or_insert_with(|| Points { schema: schema.clone(), by_id: BTreeMap::new() });
        if points.schema != schema {
            return Err(BackendError::unfit("the points are of another schema"));
        }
        writes.into_iter().try_for_each(|write| points.write(scope.life(), write))
    }

    async fn query(
        &self,
        scope: &VectorScope<'_>,
        requests: &[QueryRequest],
    ) -> Result<Vec<Vec<ScoredPayload>>, BackendError> {
        let found = self.read(scope, |points| {
            let own: Vec<_> = points.of(scope.life()).collect();
            let corpus = Corpus::of(&points.schema, &own);
            let answer = |request: &QueryRequest| {
                let hits = exact::search(&corpus, &own, request.search());
                let hits =
                    hits.into_iter().map(|(point, score)| ScoredPayload::new(score, stored(point, request.vectors())));
                hits.collect()
            };
            requests.iter().map(answer).collect::<Vec<_>>()
        });
        // No partition: no points, for each of the queries.
        Ok(if found.is_empty() { requests.iter().map(|_| Vec::new()).collect() } else { found })
    }

    async fn facet(
        &self,
        scope: &VectorScope<'_>,
        request: FacetRequest,
    ) -> Result<Vec<(FilterValue, u64)>, BackendError> {
        Ok(self.read(scope, |points| {
            let wanted = points.of(scope.life()).filter(|point| meets(request.condition(), point));
            exact::count_values(&points.schema, &request, wanted)
        }))
    }

    async fn scroll(
        &self,
        scope: &VectorScope<'_>,
        request: ScrollRequest,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        Ok(self.read(scope, |points| {
            let own = points.of(scope.life()).filter(|point| meets(request.condition(), point));
            let page: Vec<_> = match request.position() {
                Position::After(after) => own.filter(|point| Some(point.key().engine_id()) > *after).collect(),
                Position::Ordered(order) => exact::ordered(&own.collect::<Vec<_>>(), order),
            };
            page.into_iter().take(request.limit()).map(|point| stored(point, request.vectors())).collect()
        }))
    }

    async fn retrieve(
        &self,
        scope: &VectorScope<'_>,
        keys: Vec<PointKey>,
        vectors: bool,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        Ok(self.read(scope, |points| {
            let there = keys.iter().filter_map(|key| points.get(scope.life(), key));
            there.map(|point| stored(point, vectors)).collect()
        }))
    }

    async fn count(&self, scope: &VectorScope<'_>, request: CountRequest) -> Result<u64, BackendError> {
        Ok(self.read(scope, |points| {
            points.of(scope.life()).filter(|point| meets(request.condition(), point)).count() as u64
        }))
    }

    async fn vacate(&self, scope: &WriteScope<'_>) -> Result<(), BackendError> {
        self.state().partitions.retain(|name, points| name != scope.partition() || !points.by_id.is_empty());
        Ok(())
    }

    async fn drop_partition(&self, scope: &DropScope<'_>) -> Result<(), BackendError> {
        let mut state = self.state();
        state.partitions.remove(scope.partition());
        state.dropped.insert(scope.partition().to_owned());
        Ok(())
    }

    async fn verify_dropped(&self, scope: &DropScope<'_>) -> Result<StoreVerdict, BackendError> {
        let remains = self.state().partitions.contains_key(scope.partition());
        Ok(if remains { StoreVerdict::failed("points are left") } else { StoreVerdict::Verified })
    }
}

impl Points {
    fn of(&self, life: Life) -> impl Iterator<Item = &TaggedPoint> {
        self.by_id.values().filter(move |point| lives(point, life))
    }

    fn get(&self, life: Life, key: &PointKey) -> Option<&TaggedPoint> {
        self.by_id.get(&key.engine_id()).filter(|point| is_of(point, life, key))
    }

    fn write(&mut self, life: Life, write: Write) -> Result<(), BackendError> {
        match write {
            Write::Upsert { points, mode } => self.upsert(life, points, &mode)?,
            Write::SetVectors(points) => {
                for (key, mut vectors) in points.into_iter().map(crate::TaggedVectors::into_parts) {
                    normalize(&self.schema, &mut vectors);
                    if self.get(life, &key).is_some()
                        && let Some(point) = self.by_id.get_mut(&key.engine_id())
                    {
                        point.vectors.extend(vectors);
                    }
                }
            }
            Write::DeleteVectors(selector, names) => self.change(life, &selector, |point| {
                point.vectors.retain(|name, _| !names.contains(name));
            }),
            Write::SetPayload(selector, values, at) => self.change(life, &selector, |point| {
                exact::set_payload(&mut point.payload, &values, at.as_ref());
            }),
            Write::OverwritePayload(key, payload) => self.change(life, &Selector::Keys(vec![key]), |point| {
                point.payload.clone_from(&payload);
            }),
            Write::DeletePayload(selector, keys) => self.change(life, &selector, |point| {
                exact::delete_payload(&mut point.payload, &keys);
            }),
            Write::Delete(selector) => {
                let gone: Vec<_> = self.selected(life, &selector).collect();
                for id in gone {
                    self.by_id.remove(&id);
                }
            }
        }
        Ok(())
    }

    fn upsert(&mut self, life: Life, points: Vec<TaggedPoint>, mode: &UpsertMode) -> Result<(), BackendError> {
        let mut fresh = HashMap::with_capacity(points.len());
        for mut point in points {
            let id = point.key().engine_id();
            let there = self.by_id.get(&id);
            let taken = there.is_some_and(|there| !is_of(there, life, point.key()));
            let wanted = match mode {
                UpsertMode::Replace => true,
                UpsertMode::Insert => there.is_none(),
                UpsertMode::Update(condition) => there.is_some_and(|there| meets(condition.as_ref(), there)),
            };
            // A text without words has no vector: nothing finds it.
            point.vectors.retain(|_, vector| !vector.is_empty());
            normalize(&self.schema, &mut point.vectors);
            if taken || fresh.insert(id, wanted.then_some(point)).is_some() {
                return Err(BackendError::Collision);
            }
        }
        self.by_id.extend(fresh.into_iter().filter_map(|(id, point)| Some((id, point?))));
        Ok(())
    }

    fn change(&mut self, life: Life, selector: &Selector, act: impl Fn(&mut TaggedPoint)) {
        let ids: Vec<_> = self.selected(life, selector).collect();
        for id in ids {
            self.by_id.entry(id).and_modify(&act);
        }
    }

    fn selected(&self, life: Life, selector: &Selector) -> impl Iterator<Item = Uuid> {
        let selected = self.of(life).filter(move |point| match selector {
            Selector::Keys(keys) => keys.contains(point.key()),
            Selector::Matching(condition) => meets(condition.as_ref(), point),
        });
        selected.map(|point| point.key().engine_id())
    }
}

impl fmt::Debug for ReferenceBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReferenceBackend({} partitions)", self.state().partitions.len())
    }
}

fn stored(point: &TaggedPoint, vectors: bool) -> StoredPayload {
    let stored = StoredPayload::new(point.payload().clone());
    if vectors { stored.with_vectors(point.vectors().clone()) } else { stored }
}

fn lives(point: &TaggedPoint, life: Life) -> bool {
    reserved::text(point.payload(), reserved::LIFE) == Some(&reserved::life(life))
}

fn is_of(point: &TaggedPoint, life: Life, key: &PointKey) -> bool {
    lives(point, life) && point.key() == key
}
