//! Making points in one back end what they are in the other.

use std::collections::HashSet;

use tenancy_core::{Denial, Entered};
use uuid::Uuid;

use super::TieredBackend;
use super::placement::Placement;
use crate::answers;
use crate::backend::StoredPayload;
use crate::error::VectorError;
use crate::id::PointKey;
use crate::points::Points;
use crate::request::{Position, ScrollRequest, Selector, TaggedPoint, UpsertMode, Write};
use crate::scope::WriteScope;
use crate::tag;

/// Writes to the back end that is not read. What it copies is checked to be the life's own.
///
/// From the look that shows that the move is still its own to the end of what it writes no more than the patience passes:
/// who has taken the move over and waited for twice as long meets nothing of it any more.
pub(super) struct Copier<'a> {
    pub(super) entered: &'a Entered<'a>,
    pub(super) scope: WriteScope<'a>,
    pub(super) tiered: &'a TieredBackend,
    pub(super) points: &'a Points,
    pub(super) at: Placement,
}

impl Copier<'_> {
    /// Copies a page of points after one. The last of them, none when there are no more, and how many there were.
    pub(super) async fn page(&self, after: Option<Uuid>) -> Result<(Option<Uuid>, u64), VectorError> {
        let request = ScrollRequest { condition: None, limit: PAGE, position: Position::After(after), vectors: true };
        self.in_time(async {
            let page = self.tiered.of(self.at.reads).scroll(&self.scope, request).await?;
            let points = self.tagged(page)?;
            // A page may be short for any reason: the one after the last is empty.
            let last = points.last().map(|point| point.key.engine_id());
            let count = points.len() as u64;
            self.store(points, Vec::new()).await?;
            Ok((last, count))
        })
        .await
    }

    /// Copies these points, and that they are not there where they are not.
    pub(super) async fn keys(&self, keys: &[PointKey]) -> Result<(), VectorError> {
        for keys in keys.chunks(PAGE) {
            self.in_time(async {
                let found = self.tiered.of(self.at.reads).retrieve(&self.scope, keys.to_vec(), true).await?;
                let points = self.tagged(found)?;
                let here: HashSet<_> = points.iter().map(|point| point.key).collect();
                self.store(points, keys.iter().filter(|key| !here.contains(*key)).copied().collect()).await
            })
            .await?;
        }
        Ok(())
    }

    /// Takes all points out.
    pub(super) async fn clear(&self) -> Result<(), VectorError> {
        self.in_time(self.write(vec![Write::Delete(Selector::Matching(None))])).await
    }

    /// Removes the place of the life in the other back end, if there is nothing in it.
    pub(super) async fn vacate(&self) -> Result<(), VectorError> {
        self.in_time(async { Ok(self.tiered.of(self.at.reads.other()).vacate(&self.scope).await?) }).await
    }

    async fn in_time<T>(&self, act: impl Future<Output = Result<T, VectorError>>) -> Result<T, VectorError> {
        let looked = async {
            let mover = |at: Placement| at.moving.map(|moving| moving.mover);
            let now = self.tiered.tiers.placement(&self.scope).await?;
            if mover(now) == mover(self.at) { act.await } else { Err(VectorError::Busy) }
        };
        tokio::time::timeout(self.tiered.patience, looked).await.map_err(|_| VectorError::Busy)?
    }

    async fn store(&self, points: Vec<TaggedPoint>, gone: Vec<PointKey>) -> Result<(), VectorError> {
        let mut writes = Vec::new();
        if !gone.is_empty() {
            writes.push(Write::Delete(Selector::Keys(gone)));
        }
        if !points.is_empty() {
            writes.push(Write::Upsert { points, mode: UpsertMode::Replace });
        }
        if writes.is_empty() { Ok(()) } else { self.write(writes).await }
    }

    async fn write(&self, writes: Vec<Write>) -> Result<(), VectorError> {
        // A back end took its time: the tenant may be gone by now, and what is written then would stay.
        self.entered.check_fresh().await?;
        Ok(self.tiered.of(self.at.reads.other()).write(&self.scope, self.points.request(writes)).await?)
    }

    /// Stored points as they are to be stored elsewhere.
    fn tagged(&self, stored: Vec<StoredPayload>) -> Result<Vec<TaggedPoint>, Denial> {
        let owner = &self.points.owner;
        let own = answers::all(owner, stored)?.into_iter().map(|(key, point)| {
            let payload = tag::stamp(owner.life(), &key, &point.id, point.payload);
            TaggedPoint { key, vectors: point.vectors, payload }
        });
        Ok(own.collect())
    }
}

pub(super) const PAGE: usize = 256;
