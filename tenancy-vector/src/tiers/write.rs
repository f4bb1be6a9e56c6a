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
use crate::scope::VectorScope;

impl TieredBackend {
    pub(super) async fn write_where_it_is(
        &self,
        scope: &VectorScope<'_>,
        request: WriteRequest,
    ) -> Result<(), BackendError> {
        let at = self.open_placement(scope).await?;
        if at.writes() == Writes::Plain {
            return self.of(at.reads).write(scope, request).await;
        }
        let (schema, writes) = request.into_parts();
        // Which points meet a condition is looked up when the writes before it are done.
        for part in writes.chunk_by(|one, two| condition(one).is_none() && condition(two).is_none()) {
            let part = WriteRequest { schema: schema.clone(), writes: part.to_vec() };
            self.write_part(scope, part).await?;
        }
        Ok(())
    }

    async fn write_part(&self, scope: &VectorScope<'_>, part: WriteRequest) -> Result<(), BackendError> {
        loop {
            let at = self.open_placement(scope).await?;
            if at.writes() == Writes::Plain {
                return self.of(at.reads).write(scope, part).await;
            }
            if self.write_noted(scope, &at, &part).await? {
                return Ok(());
            }
        }
    }

    /// Where the life is once writes don't wait. Who has waited for too long lifts the pause: the mover that went away
    /// is not waited for, and one that did not sees that it can't turn the reads.
    async fn open_placement(&self, scope: &VectorScope<'_>) -> Result<Placement, BackendError> {
        let mut until = Instant::now() + self.pause();
        loop {
            let at = self.tiers.placement(scope).await?;
            if at.writes() != Writes::Wait {
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
        scope: &VectorScope<'_>,
        at: &Placement,
        request: &WriteRequest,
    ) -> Result<bool, BackendError> {
        let (mut writes, mut keys) = (Vec::new(), Vec::new());
        for write in request.writes() {
            match condition(write) {
                None => {
                    keys.extend(keys_of(write));
                    writes.push(write.clone());
                }
                Some(condition) => {
                    for met in self.meeting(scope, at.reads, condition).await? {
                        keys.extend(met.iter().copied());
                        writes.push(with_selector(write.clone(), both(met, condition.cloned())));
                    }
                }
            }
        }
        let note = Note { id: Uuid::new_v4(), keys };
        let id = note.id();
        self.tiers.note(scope, note).await?;
        // A mover that did not see the note has set something else before it looked for notes.
        let goes_on = self.tiers.placement(scope).await?.notes_as(at);
        let written = match goes_on {
            true => self.of(at.reads).write(scope, WriteRequest { schema: request.schema().clone(), writes }).await,
            false => Ok(()),
        };
        // One that can't be closed counts as closed when it is old.
        let _closed = self.tiers.close(scope, id).await;
        written.map(|()| goes_on)
    }

    /// The points that meet a condition now, in portions.
    async fn meeting(
        &self,
        scope: &VectorScope<'_>,
        tier: Tier,
        condition: Option<&Condition>,
    ) -> Result<Vec<Vec<PointKey>>, BackendError> {
        let (mut met, mut after) = (Vec::new(), None);
        loop {
            let (condition, position) = (condition.cloned(), Position::After(after));
            let request = ScrollRequest { condition, limit: PORTION, position, vectors: false };
            let page = self.of(tier).scroll(scope, request).await?;
            let keys = page.iter().map(|stored| key(scope, stored)).collect::<Result<Vec<_>, _>>()?;
            let Some(last) = keys.last() else { return Ok(met) };
            after = Some(last.engine_id());
            let is_last = keys.len() < PORTION;
            met.push(keys);
            if is_last {
                return Ok(met);
            }
        }
    }

    /// How long writes wait at most: they still have their time afterwards.
    pub(super) fn pause(&self) -> Duration {
        (self.patience / 4).min(LONGEST_PAUSE)
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
fn key(scope: &VectorScope<'_>, stored: &StoredPayload) -> Result<PointKey, BackendError> {
    let is_own = reserved::text(&stored.payload, reserved::LIFE) == Some(&*reserved::life(scope.life()));
    let key = reserved::text(&stored.payload, reserved::DIGEST).and_then(PointKey::of_digest);
    key.filter(|_| is_own).ok_or_else(|| BackendError::failed("a point that is not the life's"))
}

/// How often a write that waits looks whether it may go on.
const LOOK: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
const PORTION: usize = 256;
