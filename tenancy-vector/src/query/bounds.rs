//! How large queries are: looked at before anything else walks them, or sends them.

use super::{Example, Examples, VectorQuery, Wanted};
use crate::error::VectorError;
use crate::filter::{Filter, ID, take};
use crate::name::VectorName;
use crate::vector::Vector;

impl VectorQuery {
    /// Refuses queries of one call that are too large, each or together. An example weighs what its vector does, as far as
    /// that was looked up.
    pub(crate) fn ensure_bounded(queries: &[Self], examples: &Examples) -> Result<(), VectorError> {
        let mut weight = Weight { examples, room: Self::MAX_BYTES };
        for query in queries {
            if !query.fits(Self::MAX_LEVELS, &mut Self::MAX_SEARCHES.clone()) {
                return Err(VectorError::QueryTooLarge { levels: Self::MAX_LEVELS, searches: Self::MAX_SEARCHES });
            }
            weight.add(query, 0)?;
        }
        Ok(())
    }

    fn fits(&self, levels: usize, room: &mut usize) -> bool {
        let (Some(levels), Some(left)) = (levels.checked_sub(1), room.checked_sub(1)) else { return false };
        *room = left;
        self.arms().iter().all(|arm| arm.fits(levels, room))
    }

    /// The queries in it.
    pub(crate) fn arms(&self) -> &[Self] {
        match &self.wanted {
            Wanted::Nearest { .. }
            | Wanted::Mmr { .. }
            | Wanted::Recommend { .. }
            | Wanted::Discover { .. }
            | Wanted::Context { .. }
            | Wanted::Ordered(_)
            | Wanted::Sample => &[],
            Wanted::Fuse { arms, .. } | Wanted::Rescore { arms, .. } | Wanted::Refine { arms, .. } => arms,
        }
    }
}

/// What queries weigh together.
struct Weight<'a> {
    examples: &'a Examples,
    room: usize,
}

impl Weight<'_> {
    /// A query that stands in others with filters of so many bytes. Those are sent with each of its searches again.
    fn add(&mut self, query: &VectorQuery, outer: usize) -> Result<(), VectorError> {
        let own = query.filter.as_ref().map_or(Ok(0), Filter::ensure_sound)?;
        let conditions = outer + own;
        self.take(SEARCH + conditions)?;
        match &query.wanted {
            Wanted::Nearest { input, .. } | Wanted::Mmr { input, .. } | Wanted::Refine { input, .. } => {
                self.take(input.bytes())?;
            }
            Wanted::Recommend { using, like, unlike, .. } => {
                like.iter().chain(unlike).try_for_each(|example| self.example(using, example))?;
            }
            Wanted::Discover { using, target, pairs } => {
                self.example(using, target)?;
                self.pairs(using, pairs)?;
            }
            Wanted::Context { using, pairs } => self.pairs(using, pairs)?,
            Wanted::Rescore { score, .. } => {
                score.ensure_bounded()?;
                self.take(score.bytes()?)?;
            }
            Wanted::Ordered(_) | Wanted::Sample | Wanted::Fuse { .. } => {}
        }
        query.arms().iter().try_for_each(|arm| self.add(arm, conditions))
    }

    fn pairs(&mut self, using: &VectorName, pairs: &[(Example, Example)]) -> Result<(), VectorError> {
        pairs.iter().flat_map(|(one, two)| [one, two]).try_for_each(|example| self.example(using, example))
    }

    fn example(&mut self, using: &VectorName, example: &Example) -> Result<(), VectorError> {
        let bytes = match example {
            Example::Input(input) => input.bytes(),
            Example::Point(id) => {
                let vector = self.examples.get(id).and_then(|vectors| vectors.get(using));
                ID + vector.map_or(0, Vector::bytes)
            }
        };
        self.take(bytes)
    }

    fn take(&mut self, bytes: usize) -> Result<(), VectorError> {
        take(&mut self.room, bytes, VectorQuery::MAX_BYTES)
    }
}

/// What a search weighs beside its filter and its vectors: the key of an order, say.
const SEARCH: usize = 512;
