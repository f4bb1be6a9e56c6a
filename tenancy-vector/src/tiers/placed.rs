//! Whether a life's points can be where they are said to be.

use std::collections::HashMap;

use tenancy_core::Denial;
use uuid::Uuid;

use super::copy::{Copier, PAGE};
use super::placement::{Placement, Stage};
use crate::answers;
use crate::backend::StoredPayload;
use crate::error::VectorError;
use crate::id::PointKey;
use crate::point::FoundPoint;
use crate::request::{CountRequest, Position, ScrollRequest};
use crate::vector::Vector;

impl Copier<'_> {
    /// Fails where the other back end has a point that is not here as well, and no note says why: the placements were lost, or
    /// are older than the back ends, and what is there may be the only copy. Before anything is written there.
    ///
    /// As long as nothing was lost there is no point there, or what a mover has copied before it stopped.
    pub(super) async fn ensure_placed(&self) -> Result<(), VectorError> {
        let there = self.tiered.of(self.at.reads.other());
        let counted = there.count(&self.scope, CountRequest { condition: None }).await?;
        let (mut seen, mut after) = (0, None);
        loop {
            let position = Position::After(after);
            let vectors = compared(&self.at) == Compared::All;
            let request = ScrollRequest { condition: None, limit: PAGE, position, vectors };
            let page = self.own_points(there.scroll(&self.scope, request).await?)?;
            let Some(last) = page.iter().map(|(key, _)| key.engine_id()).max() else { break };
            // In order, so that none is counted twice and a page comes once.
            if !is_sorted(after, &page) {
                return Err(Denial::StoreBreach.into());
            }
            self.ensure_here(&page, vectors).await?;
            seen += page.len() as u64;
            after = Some(last);
        }
        if seen < counted { Err(VectorError::Misplaced) } else { Ok(()) }
    }

    /// Fails where one of these points of the other back end is not here, and not noted. Who changes a point here has noted it
    /// before, and what is noted is forgotten by this mover alone, so the notes are looked at last.
    async fn ensure_here(&self, page: &[(PointKey, FoundPoint)], vectors: bool) -> Result<(), VectorError> {
        let mut asked: HashMap<_, _> = page.iter().map(|(key, point)| (*key, point)).collect();
        let keys = asked.keys().copied().collect();
        let here = self.tiered.of(self.at.reads).retrieve(&self.scope, keys, vectors).await?;
        let (mut seen, compared) = (HashMap::new(), compared(&self.at));
        for (key, point) in self.own_points(here)? {
            if !asked.contains_key(&key) || seen.insert(key, point).is_some() {
                return Err(Denial::StoreBreach.into());
            }
        }
        asked.retain(|key, there| seen.get(key).is_none_or(|here| !compared.is_same(here, there)));
        if asked.is_empty() {
            return Ok(());
        }
        let noted = self.tiered.tiers.noted(&self.scope, &Vec::from_iter(asked.keys().copied())).await?;
        if asked.keys().all(|key| noted.contains(key)) { Ok(()) } else { Err(VectorError::Misplaced) }
    }

    fn own_points(&self, stored: Vec<StoredPayload>) -> Result<Vec<(PointKey, FoundPoint)>, Denial> {
        answers::all(&self.points.owner, stored)
    }
}

/// What of a point is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compared {
    /// Nothing was copied, so there should be no point: all that it holds.
    All,
    /// Each change is noted, but an engine may keep a vector that was copied in another form.
    Payload,
    /// What is taken out is noted, but no other change.
    Key,
}

const fn compared(at: &Placement) -> Compared {
    match at.moving {
        None => Compared::All,
        Some(moving) => match moving.stage {
            Stage::Begun => Compared::All,
            Stage::Copying(_) | Stage::CatchingUp | Stage::Paused => Compared::Payload,
            Stage::Clearing => Compared::Key,
        },
    }
}

impl Compared {
    fn is_same(self, here: &FoundPoint, there: &FoundPoint) -> bool {
        match self {
            Self::All => here.payload == there.payload && are_near(here, there),
            Self::Payload => here.payload == there.payload,
            Self::Key => true,
        }
    }
}

/// Whether the vectors are the same, but for what an engine rounds.
fn are_near(here: &FoundPoint, there: &FoundPoint) -> bool {
    here.vectors.len() == there.vectors.len()
        && here.vectors.iter().all(|(name, one)| there.vectors.get(name).is_some_and(|two| is_near(one, two)))
}

fn is_near(one: &Vector, two: &Vector) -> bool {
    let near = |one: &[f32], two: &[f32]| {
        one.len() == two.len()
            && one.iter().zip(two).all(|(one, two)| (one - two).abs() <= ROUNDED * one.abs().max(1.0))
    };
    match (one, two) {
        (Vector::Dense(one), Vector::Dense(two)) => near(one.values(), two.values()),
        (Vector::Sparse(one), Vector::Sparse(two)) => {
            one.indices() == two.indices() && near(one.values(), two.values())
        }
        (Vector::Multi(one), Vector::Multi(two)) => {
            one.rows().len() == two.rows().len() && one.rows().iter().zip(two.rows()).all(|(one, two)| near(one, two))
        }
        (Vector::Dense(_) | Vector::Sparse(_) | Vector::Multi(_), _) => false,
    }
}

const ROUNDED: f32 = 1e-6;

fn is_sorted(after: Option<Uuid>, page: &[(PointKey, FoundPoint)]) -> bool {
    let ids = page.iter().map(|(key, _)| Some(key.engine_id()));
    // Before the first page there is none, which is before all.
    std::iter::once(after).chain(ids).is_sorted_by(|one, two| one < two)
}
