//! Where a life is.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// One of two back ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(clippy::exhaustive_enums, reason = "there are two")]
pub enum Tier {
    /// The one that most lives share.
    Shared,
    /// The one in which a life has a place of its own.
    Dedicated,
}

impl Tier {
    pub(super) const fn other(self) -> Self {
        match self {
            Self::Shared => Self::Dedicated,
            Self::Dedicated => Self::Shared,
        }
    }
}

/// Where a life's points are. What a [`Tiers`](super::Tiers) keeps, as JSON say; nobody else needs to look into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    pub(super) reads: Tier,
    /// How often reads have turned: a life that went there and back is not where it was.
    turns: u64,
    pub(super) moving: Option<Moving>,
}

/// A move that is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Moving {
    /// Whose it is: the others have stopped, or will at their next look.
    pub(super) mover: Uuid,
    pub(super) stage: Stage,
    /// How often the mover has shown that it goes on with the stage.
    #[serde(default)]
    beats: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// Writes are noted. What is in the other back end is what somebody left there.
    Begun,
    /// All points up to this one are copied, in the order of engine ids.
    Copying(Option<Uuid>),
    /// All points are copied, but for those that are noted.
    CatchingUp,
    /// As before, and writes wait.
    Paused,
    /// What is in the other back end is of no use. Of writes those are noted that take points out: what is there and not here is
    /// there for no other reason.
    Clearing,
}

/// What a write has to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Writes {
    Plain,
    Noted,
    Wait,
}

impl Placement {
    /// Where a life is that was never moved.
    pub const FIRST: Self = Self { reads: Tier::Shared, turns: 0, moving: None };

    /// The back end that answers.
    #[must_use]
    pub const fn tier(&self) -> Tier {
        self.reads
    }

    /// Whether a move has begun and is not over.
    #[must_use]
    pub const fn is_moving(&self) -> bool {
        self.moving.is_some()
    }

    /// What a write has to do, and whether it takes points out.
    pub(super) const fn writes(&self, takes_out: bool) -> Writes {
        match self.moving {
            None => Writes::Plain,
            Some(Moving { stage: Stage::Clearing, .. }) => {
                if takes_out {
                    Writes::Noted
                } else {
                    Writes::Plain
                }
            }
            Some(Moving { stage: Stage::Begun | Stage::Copying(_) | Stage::CatchingUp, .. }) => Writes::Noted,
            Some(Moving { stage: Stage::Paused, .. }) => Writes::Wait,
        }
    }

    /// Whether reads have not turned since.
    pub(super) fn reads_as(&self, before: &Self) -> bool {
        (self.reads, self.turns) == (before.reads, before.turns)
    }

    /// Whether writes are noted, for the same mover as before: no note was forgotten in between that was not copied.
    pub(super) fn notes_as(&self, before: &Self, takes_out: bool) -> bool {
        let mover = |at: &Self| at.moving.map(|moving| moving.mover);
        self.writes(takes_out) == Writes::Noted && self.reads_as(before) && mover(self) == mover(before)
    }

    pub(super) const fn at(self, mover: Uuid, stage: Stage) -> Self {
        Self { moving: Some(Moving { mover, stage, beats: 0 }), ..self }
    }

    /// The same stage, gone on with.
    pub(super) fn beaten(self) -> Self {
        Self { moving: self.moving.map(|moving| Moving { beats: moving.beats.wrapping_add(1), ..moving }), ..self }
    }

    /// Without the move: what was copied is of no use. None where it has not come so far, or too far.
    pub(super) fn given_up(self) -> Option<Self> {
        let moving = self.moving.filter(|_| self.writes(false) != Writes::Plain)?;
        Some(self.at(moving.mover, Stage::Clearing))
    }

    /// With the pause lifted, where there is one.
    pub(super) fn resumed(self) -> Self {
        let resumed = |moving: Moving| Moving {
            stage: if moving.stage == Stage::Paused { Stage::CatchingUp } else { moving.stage },
            ..moving
        };
        Self { moving: self.moving.map(resumed), ..self }
    }

    /// Reads are answered by the other from now on.
    pub(super) const fn turned(self, mover: Uuid) -> Self {
        let moving = Some(Moving { mover, stage: Stage::Clearing, beats: 0 });
        Self { reads: self.reads.other(), turns: self.turns + 1, moving }
    }

    pub(super) const fn still(self) -> Self {
        Self { moving: None, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placement_comes_back_from_its_text() {
        let mover = Uuid::from_u128(7);
        let stages =
            [Stage::Begun, Stage::Copying(None), Stage::Copying(Some(mover)), Stage::CatchingUp, Stage::Paused];
        let first = Placement::FIRST;
        let moving = stages.map(|stage| first.at(mover, stage));
        let others = [first, first.turned(mover), first.turned(mover).still(), first.at(mover, Stage::Begun).beaten()];
        for placement in others.into_iter().chain(moving) {
            let text = serde_json::to_string(&placement).unwrap();
            assert_eq!(serde_json::from_str::<Placement>(&text).unwrap(), placement, "{text}");
        }
    }

    #[test]
    fn there_and_back_is_another_place_and_another_mover_has_other_notes() {
        let [one, two] = [1, 2].map(Uuid::from_u128);
        let there_and_back = Placement::FIRST.turned(one).turned(one).still();
        assert_eq!(there_and_back.tier(), Placement::FIRST.tier());
        assert!(!there_and_back.reads_as(&Placement::FIRST));
        let at = Placement::FIRST.at(one, Stage::Begun);
        for now in [Placement::FIRST.at(one, Stage::CatchingUp), at.beaten()] {
            assert!(now.notes_as(&at, false) && now.notes_as(&at, true), "{now:?}");
        }
        let given_up = at.given_up().unwrap();
        assert!(given_up.notes_as(&at, true) && !given_up.notes_as(&at, false), "what is taken out alone");
        for now in [Placement::FIRST.at(two, Stage::Begun), at.at(one, Stage::Paused), at.turned(one), at.still()] {
            assert!(!now.notes_as(&at, false) && !now.notes_as(&at, true), "{now:?}");
        }
    }
}
