//! How lists of answers become one: the same in every back end that does it itself, ties included.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::error::VectorError;

/// How what several searches found becomes one list.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses a fusion must not compile")]
pub enum Fusion {
    /// By reciprocal ranks.
    Ranks(Ranks),
    /// By scores: each arm's are brought to a common scale, three standard deviations around their mean, and added up
    /// (distribution-based score fusion).
    Scores,
}

/// Fusion by reciprocal ranks: a point gets `1 / (60 + rank)` from every arm that found it, ranks counting from 1
/// (Cormack, Clarke and Büttcher, 2009). A weight divides the ranks of its arm.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Ranks {
    weights: Vec<f32>,
}

impl Fusion {
    /// By reciprocal ranks, all arms alike.
    #[must_use]
    pub fn ranks() -> Self {
        Self::Ranks(Ranks::default())
    }

    /// By reciprocal ranks, with a weight for each arm.
    ///
    /// # Errors
    /// [`VectorError::NotFinite`] for a weight that is not above 0.
    pub fn weighted(weights: Vec<f32>) -> Result<Self, VectorError> {
        if weights.iter().all(|weight| weight.is_finite() && *weight > 0.0) {
            Ok(Self::Ranks(Ranks { weights }))
        } else {
            Err(VectorError::NotFinite)
        }
    }
}

impl Fusion {
    /// The fusion of those arms that can find something; `None` when none can.
    pub(crate) fn for_arms<T>(&self, arms: &[Option<T>]) -> Result<Option<Self>, VectorError> {
        if arms.iter().all(Option::is_none) {
            return Ok(None);
        }
        Ok(Some(match self {
            Self::Scores => Self::Scores,
            Self::Ranks(Ranks { weights }) if weights.is_empty() => Self::ranks(),
            Self::Ranks(Ranks { weights }) if weights.len() != arms.len() => return Err(VectorError::NoArm),
            Self::Ranks(Ranks { weights }) => {
                let left = weights.iter().zip(arms).filter(|(_, arm)| arm.is_some());
                Self::Ranks(Ranks { weights: left.map(|(weight, _)| *weight).collect() })
            }
        }))
    }
}

impl Ranks {
    /// What is added to every rank.
    pub const CONSTANT: u16 = 60;

    /// One for each arm, or none where all are alike.
    #[must_use]
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }
}

/// Fuses the answers of the arms of a query, the best of each arm first: what an order or a choice put in a row keeps
/// its ranks, whatever its scores. Equal scores of the result are ordered by the key, which should be the external id:
/// engines leave ties to chance, and near-duplicate passages tie all the time.
#[must_use]
pub fn fuse<K: Ord>(fusion: &Fusion, arms: Vec<Vec<(K, f32)>>, limit: usize) -> Vec<(K, f32)> {
    let mut scores = BTreeMap::<K, f32>::new();
    for (at, arm) in arms.into_iter().enumerate() {
        match fusion {
            Fusion::Ranks(ranks) => {
                let weight = ranks.weights.get(at).copied().unwrap_or(1.0);
                for (rank, (key, _)) in (1u16..).zip(arm) {
                    *scores.entry(key).or_default() += 1.0 / (f32::from(Ranks::CONSTANT) + f32::from(rank) / weight);
                }
            }
            Fusion::Scores => {
                let scale = Scale::of(&arm);
                for (key, score) in arm {
                    *scores.entry(key).or_default() += scale.place(score);
                }
            }
        }
    }
    let mut fused = in_order(scores.into_iter().collect());
    fused.truncate(limit);
    fused
}

/// The answers of one search, the best first, ties by the key.
#[must_use]
pub fn in_order<K: Ord>(mut scored: Vec<(K, f32)>) -> Vec<(K, f32)> {
    scored.sort_by(|(one, high), (two, low)| match low.total_cmp(high) {
        Ordering::Equal => one.cmp(two),
        other => other,
    });
    scored
}

/// Three standard deviations around the mean of an arm's scores.
struct Scale {
    low: f32,
    width: f32,
}

impl Scale {
    fn of<K>(arm: &[(K, f32)]) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "an arm has a few thousand answers at most")]
        let count = arm.len() as f32;
        let mean = arm.iter().map(|(_, score)| score).sum::<f32>() / count;
        // Of a sample, as the engine has it; of one score there is none.
        let variance = arm.iter().map(|(_, score)| (score - mean).powi(2)).sum::<f32>() / (count - 1.0);
        let deviation = if variance.is_finite() { variance.sqrt() } else { 0.0 };
        Self { low: mean - 3.0 * deviation, width: 6.0 * deviation }
    }

    fn place(&self, score: f32) -> f32 {
        if self.width > 0.0 { (score - self.low) / self.width } else { 0.5 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_by_key() {
        assert_eq!(in_order(vec![("b", 1.0), ("c", 2.0), ("a", 1.0)]), [("c", 2.0), ("a", 1.0), ("b", 1.0)]);
    }

    #[test]
    fn ranks_are_fused_from_one_with_k_60() {
        let dense = vec![("a", 0.9), ("b", 0.8), ("c", 0.7)];
        let sparse = vec![("b", 4.0), ("d", 3.0)];
        let fused = fuse(&Fusion::ranks(), vec![dense, sparse], 10);
        let keys: Vec<_> = fused.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, ["b", "a", "d", "c"]);
        assert_eq!(fused[0].1, 1.0 / 62.0 + 1.0 / 61.0);
        assert_eq!(fused[1].1, 1.0 / 61.0);
    }

    #[test]
    fn a_weight_stretches_the_ranks_of_its_arm() {
        let weighted = Fusion::weighted(vec![1.0, 3.0]).unwrap();
        let fused = fuse(&weighted, vec![vec![("a", 1.0)], vec![("b", 2.0), ("c", 1.0)]], 10);
        assert_eq!(fused, [("b", 1.0 / (60.0 + 1.0 / 3.0)), ("c", 1.0 / (60.0 + 2.0 / 3.0)), ("a", 1.0 / 61.0)]);
        for bad in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert!(matches!(Fusion::weighted(vec![bad]), Err(VectorError::NotFinite)), "{bad}");
        }
    }

    #[test]
    fn mirrored_ranks_tie_and_the_key_decides() {
        let fused = fuse(&Fusion::ranks(), vec![vec![("b", 2.0), ("a", 1.0)], vec![("a", 2.0), ("b", 1.0)]], 1);
        assert_eq!(fused[0].0, "a");
    }

    #[test]
    fn scores_are_brought_to_a_common_scale() {
        let fused = fuse(&Fusion::Scores, vec![vec![("a", 100.0), ("b", 300.0)], vec![("b", 0.5)]], 10);
        assert_eq!(fused[0].0, "b");
        // One score alone is in the middle; two are as far from the middle on either side.
        assert!((fused[0].1 + fused[1].1 - 1.5).abs() < 1e-6, "{fused:?}");
    }
}
