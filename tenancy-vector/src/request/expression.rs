//! Scores that are computed.

use std::fmt;

use crate::error::VectorError;
use crate::filter::{Filter, Place};
use crate::id::ExternalId;
use crate::payload::PayloadKey;

/// A number computed for each point that the arms of a search found.
///
/// It can't bring in a point, only order those that are there; what it reads is the point's own payload. It has a value
/// for every point: engines fail the whole query over one point for which a root or a logarithm has none.
#[derive(Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses an expression must not compile")]
pub enum Expression<Id = ExternalId> {
    /// A number.
    Number(f32),
    /// The score that an arm gave the point, 0 where that arm did not find it. Arms count from 0.
    Score(usize),
    /// A number in the payload, or else this one.
    Value(PayloadKey, f32),
    /// 1 where it holds, 0 where not.
    When(Box<Filter<Id>>),
    /// Seconds since 1970 of a point in time in the payload, or else this number.
    Datetime(PayloadKey, f32),
    /// Metres from a place to one in the payload, or else this number.
    Distance(Place, PayloadKey, f32),
    /// The sum of these.
    Sum(Vec<Expression<Id>>),
    /// The product of these.
    Product(Vec<Expression<Id>>),
    /// The first by the second, or else the number, where the second is 0.
    Quotient(Box<Expression<Id>>, Box<Expression<Id>>, f32),
    /// Its negative.
    Negative(Box<Expression<Id>>),
    /// Its distance from 0.
    Absolute(Box<Expression<Id>>),
    /// From 1 at the target down to 0 far away.
    Decay {
        /// In which form.
        decay: Decay,
        /// What of.
        of: Box<Expression<Id>>,
        /// Where it is 1.
        target: f32,
        /// How far from the target it is `midpoint`; above 0.
        scale: f32,
        /// Between 0 and 1.
        midpoint: f32,
    },
}

/// How a score falls with distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses a form must not compile")]
pub enum Decay {
    /// In a straight line, to 0.
    Linear,
    /// By the same part for each step.
    Exponential,
    /// As a bell.
    Gauss,
}

impl<Id> Expression<Id> {
    /// The most levels of a formula: back ends walk it, and a deep one would run out of stack.
    pub const MAX_LEVELS: usize = 16;

    /// The most parts of a formula.
    pub const MAX_PARTS: usize = 256;

    /// # Errors
    /// [`VectorError::FormulaTooLarge`].
    pub(crate) fn ensure_bounded(&self) -> Result<(), VectorError> {
        if self.fits(Self::MAX_LEVELS, &mut Self::MAX_PARTS.clone()) {
            Ok(())
        } else {
            Err(VectorError::FormulaTooLarge { parts: Self::MAX_PARTS, levels: Self::MAX_LEVELS })
        }
    }

    fn fits(&self, levels: usize, room: &mut usize) -> bool {
        let (Some(levels), Some(left)) = (levels.checked_sub(1), room.checked_sub(1)) else { return false };
        *room = left;
        match self {
            Self::Number(_)
            | Self::Score(_)
            | Self::Value(..)
            | Self::When(_)
            | Self::Datetime(..)
            | Self::Distance(..) => true,
            Self::Sum(all) | Self::Product(all) => all.iter().all(|one| one.fits(levels, room)),
            Self::Quotient(one, two, _) => one.fits(levels, room) && two.fits(levels, room),
            Self::Negative(one) | Self::Absolute(one) | Self::Decay { of: one, .. } => one.fits(levels, room),
        }
    }
}

impl Expression {
    /// How many bytes a formula that is bounded has.
    ///
    /// # Errors
    /// Those of the filters in it.
    pub(crate) fn bytes(&self) -> Result<usize, VectorError> {
        let all = |all: &[Self]| all.iter().map(Self::bytes).sum::<Result<usize, _>>();
        let inner = match self {
            Self::Number(_) | Self::Score(_) => 0,
            Self::Value(key, _) | Self::Datetime(key, _) | Self::Distance(_, key, _) => key.as_str().len(),
            Self::When(filter) => filter.ensure_sound()?,
            Self::Sum(terms) | Self::Product(terms) => all(terms)?,
            Self::Quotient(one, two, _) => one.bytes()? + two.bytes()?,
            Self::Negative(one) | Self::Absolute(one) | Self::Decay { of: one, .. } => one.bytes()?,
        };
        Ok(PART + inner)
    }
}

const PART: usize = 32;

impl<Id> fmt::Debug for Expression<Id> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Expression(..)")
    }
}
