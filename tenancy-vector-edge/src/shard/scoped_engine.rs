//! The engine behind the condition on the life.

#[cfg(test)]
use std::sync::Mutex;

use qdrant_edge::{
    CountRequest, EdgeShard, FacetRequest, FacetResponse, Filter as EngineFilter, JsonPath, OperationResult, PointId,
    PointInsertOperations, PointOperations, PointStructPersisted, QueryRequest, Record, ScoredPoint, ScrollRequest,
    UpdateOperation, WithPayloadInterface,
};
use tenancy_vector::BackendError;

use crate::lower::Scoped;

/// The engine of a shard. Whatever selects points takes a [`Scoped`], which becomes the filter of the request.
#[derive(Debug)]
pub(super) struct ScopedEngine {
    shard: EdgeShard,
    /// The filters of all requests, for tests to look at.
    #[cfg(test)]
    asked: Mutex<Vec<Option<EngineFilter>>>,
}

impl ScopedEngine {
    pub(super) fn new(opened: OperationResult<EdgeShard>) -> Result<Self, BackendError> {
        Ok(Self {
            shard: opened.map_err(BackendError::failed)?,
            #[cfg(test)]
            asked: Mutex::default(),
        })
    }

    pub(super) fn query(&self, scoped: Scoped, query: QueryRequest) -> Result<Vec<ScoredPoint>, BackendError> {
        let query = QueryRequest { filter: Some(scoped.into_filter()), ..query };
        self.note(query.filter.as_ref());
        self.shard.query(query).map_err(BackendError::failed)
    }

    pub(super) fn scroll(&self, scoped: Scoped, request: ScrollRequest) -> Result<Vec<Record>, BackendError> {
        let request = ScrollRequest { filter: Some(scoped.into_filter()), ..request };
        self.note(request.filter.as_ref());
        self.shard.scroll(request).map(|(records, _)| records).map_err(BackendError::failed)
    }

    pub(super) fn count(&self, scoped: Scoped) -> Result<u64, BackendError> {
        let request = CountRequest { filter: Some(scoped.into_filter()), exact: true };
        self.note(request.filter.as_ref());
        self.shard.count(request).map(|count| count as u64).map_err(BackendError::failed)
    }

    /// All values, with numbers that are estimates.
    pub(super) fn facet(&self, scoped: Scoped, key: JsonPath) -> Result<FacetResponse, BackendError> {
        let request = FacetRequest { key, limit: usize::MAX, filter: Some(scoped.into_filter()), exact: true };
        self.note(request.filter.as_ref());
        self.shard.facet(request).map_err(BackendError::failed)
    }

    /// Changes what is selected.
    pub(super) fn change(
        &self,
        scoped: Scoped,
        operation: impl FnOnce(EngineFilter) -> UpdateOperation,
    ) -> Result<(), BackendError> {
        let filter = scoped.into_filter();
        self.note(Some(&filter));
        self.update(operation(filter))
    }

    /// The points with these ids, whose ever they are: what must not be written over.
    pub(super) fn at(&self, ids: &[PointId], payload: WithPayloadInterface) -> Result<Vec<Record>, BackendError> {
        self.shard.retrieve(ids, Some(payload), None).map_err(BackendError::failed)
    }

    /// Stores points, over those with the same ids. One after the other: the engine takes a batch in an order by chance,
    /// numbers terms as it meets them and adds their weights up by number, so scores would differ in the last bit from
    /// store to store.
    pub(super) fn put(&self, points: Vec<PointStructPersisted>) -> Result<(), BackendError> {
        points.into_iter().try_for_each(|point| {
            let one = PointInsertOperations::PointsList(vec![point]);
            self.update(UpdateOperation::PointOperation(PointOperations::UpsertPoints(one)))
        })
    }

    /// What concerns no points in particular.
    pub(super) fn update(&self, operation: UpdateOperation) -> Result<(), BackendError> {
        self.shard.update(operation).map_err(BackendError::failed)
    }

    pub(super) fn flush(&self) {
        self.shard.flush();
    }

    #[cfg(not(test))]
    const fn note(&self, _: Option<&EngineFilter>) {}
}

#[cfg(test)]
impl ScopedEngine {
    fn note(&self, filter: Option<&EngineFilter>) {
        self.asked.lock().unwrap().push(filter.cloned());
    }

    pub(super) fn asked(&self) -> Vec<Option<EngineFilter>> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    pub(super) fn optimize(&self) {
        self.shard.optimize().unwrap();
    }
}
