//! Writes to a life that may be on its way.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::placement::{Placement, Tier, Writes};
use super::{Note, TieredBackend};
use crate::backend::StoredPayload;
use crate::error::BackendError;
use crate::filter::{Condition, Filter};
use crate::id::PointKey;
use crate::request::{Position, ScrollRequest, Selector, Write, WriteRequest};
use crate::reserved;
use crate::schema::Schema;
use crate::scope::WriteScope;

impl TieredBackend {
    pub(super) async fn write_where_it_is(
        &self,
        scope: &WriteScope<'_>,
        request: WriteRequest,
    ) -> Result<(), BackendError> {
        let Some(request) = self.in_time(self.write_plain(scope, request)).await? else { return Ok(()) };
        let (schema, writes) = request.into_parts();
        // Which points meet a condition is looked up when the writes before it are done.
        for part in writes.chunk_by(|one, two| condition(one).is_none() && condition(two).is_none()) {
            match part {
                [write] if let Some(met_by) = condition(write) => self.write_met(scope, &schema, write, met_by).await?,
                named => {
                    self.write_named(scope, WriteRequest { schema: schema.clone(), writes: named.to_vec() }).await?
                }
            }
        }
        Ok(())
    }

    /// Writes, if writes are not noted; gives the request back where they are.
    async fn write_plain(
        &self,
        scope: &WriteScope<'_>,
        request: WriteRequest,
    ) -> Result<Option<WriteRequest>, BackendError> {
        let at = self.open_placement(scope).await?;
        match at.writes(request.writes().iter().any(takes_out)) {
            Writes::Plain => self.of(at.reads).write(scope, request).await.map(|()| None),
            Writes::Noted | Writes::Wait => Ok(Some(request)),
        }
    }

    /// Writes that name their points.
    async fn write_named(&self, scope: &WriteScope<'_>, request: WriteRequest) -> Result<(), BackendError> {
        let keys: Vec<_> = request.writes().iter().flat_map(keys_of).collect();
        let takes_out = request.writes().iter().any(takes_out);
        loop {
            let step = async {
                let at = self.open_placement(scope).await?;
                match at.writes(takes_out) {
                    Writes::Plain => self.of(at.reads).write(scope, request.clone()).await.map(|()| true),
                    Writes::Noted | Writes::Wait => self.write_noted(scope, &at, keys.clone(), request.clone()).await,
                }
            };
            if self.in_time(step).await? {
                return Ok(());
            }
        }
    }

    /// A write that says by a condition which points it means: portion by portion, each noted for itself.
    async fn write_met(
        &self,
        scope: &WriteScope<'_>,
        schema: &Schema,
        write: &Write,
        met_by: Option<&Condition>,
    ) -> Result<(), BackendError> {
        let request = |write| WriteRequest { schema: schema.clone(), writes: vec![write] };
        let mut after = None;
        loop {
            let step = async {
                let at = self.open_placement(scope).await?;
                if at.writes(takes_out(write)) == Writes::Plain {
                    return self.of(at.reads).write(scope, request(write.clone())).await.map(|()| Met::All);
                }
                let keys = self.portion(scope, at.reads, met_by, after).await?;
                let Some(last) = keys.last().map(PointKey::engine_id) else { return Ok(Met::All) };
                let met = if keys.len() < PORTION { Met::All } else { Met::UpTo(last) };
                let part = request(with_selector(write.clone(), both(keys.clone(), met_by.cloned())));
                Ok(if self.write_noted(scope, &at, keys, part).await? { met } else { Met::Nothing })
            };
            match self.in_time(step).await? {
                Met::All => return Ok(()),
                Met::UpTo(last) => after = Some(last),
                Met::Nothing => {}
            }
        }
    }

    /// From the look that shows where the life is to the end of what is written then, no more than the patience passes.
    async fn in_time<T>(&self, step: impl Future<Output = Result<T, BackendError>>) -> Result<T, BackendError> {
        let done = tokio::time::timeout(self.patience, step).await;
        done.unwrap_or_else(|_| Err(BackendError::because("the write took too long")))
    }

    /// Where the life is once writes don't wait. Who has waited for too long lifts the pause: the mover that went away
    /// is not waited for, and one that did not sees that it can't turn the reads.
    async fn open_placement(&self, scope: &WriteScope<'_>) -> Result<Placement, BackendError> {
        let mut until = Instant::now() + self.pause();
        loop {
            let at = self.tiers.placement(scope).await?;
            if let Some(given_up) = self.watch.abandoned(scope.partition(), at, self.lease()) {
                // Set by another first: looked at again.
                self.tiers.replace(scope, at, given_up).await?;
                continue;
            }
            if at.writes(false) != Writes::Wait {
                return Ok(at);
            }
            if Instant::now() < until {
                sleep(LOOK).await;
            } else {
                self.tiers.replace(scope, at, at.resumed()).await?;
                until = Instant::now() + self.pause();
            }
        }
    }

    /// Notes which points a write is about to change, and writes. False, with nothing done, when the life is not any more
    /// where it was, or writes wait.
    async fn write_noted(
        &self,
        scope: &WriteScope<'_>,
        at: &Placement,
        keys: Vec<PointKey>,
        request: WriteRequest,
    ) -> Result<bool, BackendError> {
        let takes_out = request.writes().iter().any(takes_out);
        let note = Note { id: Uuid::new_v4(), keys };
        let id = note.id();
        self.tiers.note(scope, note).await?;
        // A mover that did not see the note has set something else before it looked for notes.
        if !self.tiers.placement(scope).await?.notes_as(at, takes_out) {
            // It says nothing, and after the end of the move nobody else takes it away.
            let _forgotten = self.tiers.forget(scope, &[id]).await;
            return Ok(false);
        }
        let written = self.of(at.reads).write(scope, request).await;
        if is_over(&written) {
            // One that can't be closed counts as closed when it is old.
            let _closed = self.tiers.close(scope, id).await;
        }
        written.map(|()| true)
    }

    /// The next points that meet a condition now.
    async fn portion(
        &self,
        scope: &WriteScope<'_>,
        tier: Tier,
        condition: Option<&Condition>,
        after: Option<Uuid>,
    ) -> Result<Vec<PointKey>, BackendError> {
        let (condition, position) = (condition.cloned(), Position::After(after));
        let request = ScrollRequest { condition, limit: PORTION, position, vectors: false };
        let page = self.of(tier).scroll(scope, request).await?;
        page.iter().map(|stored| key(scope, stored)).collect()
    }

    /// How long writes wait at most: they still have their time afterwards.
    pub(super) fn pause(&self) -> Duration {
        (self.patience / 4).min(LONGEST_PAUSE)
    }
}

/// How far a write by a condition has come.
enum Met {
    All,
    UpTo(Uuid),
    /// The life was on its way.
    Nothing,
}

/// Whether a write does nothing any more. One that failed somewhere on its way may still be done by the engine: its note
/// stays open until it is old.
const fn is_over(written: &Result<(), BackendError>) -> bool {
    match written {
        Ok(())
        | Err(BackendError::Dropped | BackendError::Collision | BackendError::Unfit(_) | BackendError::Denied(_)) => {
            true
        }
        Err(BackendError::BreakerOpen | BackendError::Failed(_)) => false,
    }
}

/// The condition of a write that names no points; all points are met by none.
#[expect(clippy::option_option, reason = "a condition that all meet is one")]
const fn condition(write: &Write) -> Option<Option<&Condition>> {
    match write {
        Write::Upsert { .. } | Write::SetVectors(_) | Write::OverwritePayload(..) => None,
        Write::DeleteVectors(selector, _)
        | Write::SetPayload(selector, ..)
        | Write::DeletePayload(selector, _)
        | Write::Delete(selector) => match selector {
            Selector::Keys(_) => None,
            Selector::Matching(condition) => Some(condition.as_ref()),
        },
    }
}

/// Whether a point may be gone after a write.
const fn takes_out(write: &Write) -> bool {
    match write {
        Write::Delete(_) => true,
        Write::Upsert { .. }
        | Write::SetVectors(_)
        | Write::OverwritePayload(..)
        | Write::DeleteVectors(..)
        | Write::SetPayload(..)
        | Write::DeletePayload(..) => false,
    }
}

/// The points of a write that names them.
fn keys_of(write: &Write) -> Vec<PointKey> {
    match write {
        Write::Upsert { points, .. } => points.iter().map(|point| *point.key()).collect(),
        Write::SetVectors(points) => points.iter().map(|point| *point.key()).collect(),
        Write::OverwritePayload(key, _) => vec![*key],
        Write::DeleteVectors(selector, _)
        | Write::SetPayload(selector, ..)
        | Write::DeletePayload(selector, _)
        | Write::Delete(selector) => match selector {
            Selector::Keys(keys) => keys.clone(),
            Selector::Matching(_) => Vec::new(),
        },
    }
}

fn with_selector(write: Write, selector: Selector) -> Write {
    match write {
        Write::Upsert { .. } | Write::SetVectors(_) | Write::OverwritePayload(..) => write,
        Write::DeleteVectors(_, names) => Write::DeleteVectors(selector, names),
        Write::SetPayload(_, payload, at) => Write::SetPayload(selector, payload, at),
        Write::DeletePayload(_, keys) => Write::DeletePayload(selector, keys),
        Write::Delete(_) => Write::Delete(selector),
    }
}

/// Of these points those that still meet the condition.
fn both(keys: Vec<PointKey>, condition: Option<Condition>) -> Selector {
    match condition {
        None => Selector::Keys(keys),
        Some(condition) => Selector::Matching(Some(Filter::All(vec![Filter::HasId(keys), condition]))),
    }
}

/// The key of a point that a back end answered, which must be of the life.
fn key(scope: &WriteScope<'_>, stored: &StoredPayload) -> Result<PointKey, BackendError> {
    let own = stored.tag.as_ref().filter(|tag| tag.life == reserved::life(scope.life()));
    own.and_then(|tag| PointKey::of_digest(&tag.digest))
        .ok_or_else(|| BackendError::because("a point that is not the life's"))
}

/// How often a write that waits looks whether it may go on.
const LOOK: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
const PORTION: usize = 256;
