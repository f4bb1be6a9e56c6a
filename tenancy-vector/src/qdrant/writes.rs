//! Writes, sent and looked after.

use std::collections::HashSet;

use qdrant_client::qdrant as pb;

use super::backend::QdrantBackend;
use super::channel::Again;
use super::error::QdrantError;
use super::layout::Place;
use super::write::{may_repeat, split};
use crate::backend::StoredPayload;
use crate::error::BackendError;
use crate::filter::{Condition, Filter};
use crate::id::PointKey;
use crate::request::{CountRequest, Position, ScrollRequest, TaggedPoint, TaggedVectors, UpsertMode, Write};
use crate::schema::Schema;

impl QdrantBackend {
    pub(super) async fn write_all(
        &self,
        place: &Place,
        schema: &Schema,
        writes: Vec<Write>,
    ) -> Result<(), BackendError> {
        for write in writes.into_iter().flat_map(split) {
            self.write_one(place, schema, write).await?;
        }
        Ok(())
    }

    async fn write_one(&self, place: &Place, schema: &Schema, write: Write) -> Result<(), BackendError> {
        let write = match write {
            // A server fails on a point that is not there.
            Write::SetVectors(points) => Write::SetVectors(self.there(place, points).await?),
            // What a point does not bring is taken away first, and would be missed by the condition afterwards.
            Write::Upsert { points, mode: UpsertMode::Update(Some(condition)) } if condition.names_points() => {
                let points = self.meeting(place, points, condition).await?;
                if points.is_empty() {
                    return Ok(());
                }
                Write::Upsert { points, mode: UpsertMode::Update(None) }
            }
            other => other,
        };
        let again = if may_repeat(&write) { Again::May } else { Again::MustNot };
        let keys = match &write {
            Write::Upsert { points, mode: UpsertMode::Replace | UpsertMode::Insert } => {
                points.iter().map(|point| *point.key()).collect()
            }
            // The others, and a point that is not to be made, leave alone what they don't find.
            Write::Upsert { .. }
            | Write::SetVectors(_)
            | Write::DeleteVectors(..)
            | Write::SetPayload(..)
            | Write::OverwritePayload(..)
            | Write::DeletePayload(..)
            | Write::Delete(_) => Vec::new(),
        };
        let operations = place.operations(schema, write);
        // Twice: a point that somebody else deleted in between is no collision.
        for _ in 0..2 {
            self.update(place, again, operations.clone()).await?;
            if self.are_there(place, &keys).await? {
                return Ok(());
            }
        }
        Err(BackendError::Collision)
    }

    /// Whether points are there under their own digests. The server skips one whose id another has, without a word.
    pub(super) async fn are_there(&self, place: &Place, keys: &[PointKey]) -> Result<bool, BackendError> {
        if keys.is_empty() {
            return Ok(true);
        }
        let request = CountRequest { condition: Some(Filter::HasId(keys.to_vec())) };
        Ok(self.count_in(place, &request).await? == keys.len() as u64)
    }

    /// Those points in whose place one stands that meets a condition.
    async fn meeting(
        &self,
        place: &Place,
        points: Vec<TaggedPoint>,
        condition: Condition,
    ) -> Result<Vec<TaggedPoint>, BackendError> {
        let keys = points.iter().map(|point| *point.key()).collect();
        let request = ScrollRequest {
            condition: Some(Filter::All(vec![Filter::HasId(keys), condition])),
            limit: points.len(),
            position: Position::After(None),
            vectors: false,
        };
        let found = self.scroll_in(place, &request).await?;
        let digests = digests(&found);
        Ok(points.into_iter().filter(|point| digests.contains(point.key().digest().as_str())).collect())
    }

    pub(super) async fn there(
        &self,
        place: &Place,
        points: Vec<TaggedVectors>,
    ) -> Result<Vec<TaggedVectors>, BackendError> {
        let keys = points.iter().map(|point| *point.key()).collect();
        let found = self.retrieve_in(place, keys, false).await?;
        let digests = digests(&found);
        Ok(points.into_iter().filter(|point| digests.contains(point.key().digest().as_str())).collect())
    }

    pub(super) async fn update(
        &self,
        place: &Place,
        again: Again,
        operations: Vec<pb::PointsUpdateOperation>,
    ) -> Result<(), BackendError> {
        if operations.is_empty() {
            return Ok(());
        }
        let asked = operations.len();
        let request = pb::UpdateBatchPoints {
            collection_name: place.collection.clone(),
            wait: Some(true),
            operations,
            ordering: Some(pb::WriteOrdering { r#type: pb::WriteOrderingType::Strong.into() }),
            timeout: Some(self.link.seconds()),
        };
        let answer = self.link.call(place.about(), again, request, |clients, request| async move {
            clients.points().update_batch(request).await
        });
        let answer = answer.await.map_err(|failure| self.unless_there(failure))?;
        if answer.result.len() != asked {
            return Err(QdrantError::Incomplete.into());
        }
        answer.result.iter().try_for_each(|result| completed(Some(result))).map_err(BackendError::from)
    }
}

fn digests(found: &[StoredPayload]) -> HashSet<&str> {
    found.iter().filter_map(|stored| Some(stored.tag.as_ref()?.digest.as_str())).collect()
}

/// Two keys of one call may share an engine id just as well as an old and a new one.
pub(super) fn ensure_distinct(write: &Write) -> Result<(), BackendError> {
    let mut ids = HashSet::new();
    match write {
        Write::Upsert { points, .. } if !points.iter().all(|point| ids.insert(point.key().engine_id())) => {
            Err(BackendError::Collision)
        }
        Write::Upsert { .. }
        | Write::SetVectors(_)
        | Write::DeleteVectors(..)
        | Write::SetPayload(..)
        | Write::OverwritePayload(..)
        | Write::DeletePayload(..)
        | Write::Delete(_) => Ok(()),
    }
}

/// `Acknowledged` is a promise, `WaitTimeout` not even that.
pub(super) fn completed(result: Option<&pb::UpdateResult>) -> Result<(), QdrantError> {
    let status = result.ok_or(QdrantError::Incomplete)?.status;
    if status == i32::from(pb::UpdateStatus::Completed) { Ok(()) } else { Err(QdrantError::NotCompleted) }
}
