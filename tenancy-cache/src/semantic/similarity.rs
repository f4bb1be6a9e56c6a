//! How alike two questions are.

use crate::error::CacheError;

/// How alike two questions have to be: the cosine of their vectors, more than 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Similarity(f32);

impl Similarity {
    /// A cosine.
    ///
    /// # Errors
    /// [`CacheError::Similarity`] for 0, less, more than 1, and what is no number: each lets every answer through, or none.
    pub fn new(cosine: f32) -> Result<Self, CacheError> {
        if cosine > 0.0 && cosine <= 1.0 { Ok(Self(cosine)) } else { Err(CacheError::Similarity) }
    }

    /// The cosine.
    #[must_use]
    pub const fn cosine(self) -> f32 {
        self.0
    }

    /// The stricter of both.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// A score that is no number reaches nothing.
    pub(crate) const fn is_reached_by(self, score: f32) -> bool {
        score.is_finite() && score >= self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_tell_questions_apart_is_a_similarity() {
        for cosine in [0.0, -0.0, -0.5, -1.0, 1.000_001, 2.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN] {
            assert!(matches!(Similarity::new(cosine), Err(CacheError::Similarity)), "{cosine}");
        }
        let [low, high] = [0.1, 1.0].map(|cosine| Similarity::new(cosine).unwrap());
        assert_eq!((low.and(high), high.and(low)), (high, high), "the stricter counts, whoever says it");
        assert!(low.is_reached_by(0.1) && high.is_reached_by(1.000_000_1));
        assert!(![f32::NAN, f32::INFINITY, -1.0, 0.099].iter().any(|score| low.is_reached_by(*score)));
    }
}
