//! How answers are put in order: the same in every back end, ties included.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Ranks the answers of the arms of a query, the best first.
///
/// One arm keeps its scores. Several are fused by reciprocal ranks: a point gets `1 / (60 + rank)` from every arm that
/// found it, ranks counting from 1 (Cormack, Clarke and Büttcher, 2009). Equal scores are ordered by the key, which
/// should be the external id: engines leave ties to chance, and near-duplicate passages tie all the time.
#[must_use]
pub fn rank<K: Ord>(arms: Vec<Vec<(K, f32)>>, limit: usize) -> Vec<(K, f32)> {
    let arms = arms.into_iter().map(in_order);
    let mut ranked = if arms.len() == 1 { arms.flatten().collect() } else { fuse(arms) };
    ranked.truncate(limit);
    ranked
}

fn fuse<K: Ord>(arms: impl Iterator<Item = Vec<(K, f32)>>) -> Vec<(K, f32)> {
    let mut scores = BTreeMap::<K, f32>::new();
    for arm in arms {
        for (rank, (key, _)) in (1u16..).zip(arm) {
            *scores.entry(key).or_default() += 1.0 / (RANK_CONSTANT + f32::from(rank));
        }
    }
    in_order(scores.into_iter().collect())
}

fn in_order<K: Ord>(mut scored: Vec<(K, f32)>) -> Vec<(K, f32)> {
    scored.sort_by(|(one, high), (two, low)| match low.total_cmp(high) {
        Ordering::Equal => one.cmp(two),
        other => other,
    });
    scored
}

const RANK_CONSTANT: f32 = 60.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_arm_keeps_its_scores_and_breaks_ties_by_key() {
        let arm = vec![("b", 1.0), ("c", 2.0), ("a", 1.0)];
        assert_eq!(rank(vec![arm], 2), [("c", 2.0), ("a", 1.0)]);
    }

    #[test]
    fn ranks_are_fused_from_one_with_k_60() {
        let dense = vec![("a", 0.9), ("b", 0.8), ("c", 0.7)];
        let sparse = vec![("b", 4.0), ("d", 3.0)];
        let fused = rank(vec![dense, sparse], 10);
        let keys: Vec<_> = fused.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, ["b", "a", "d", "c"]);
        assert_eq!(fused[0].1, 1.0 / 62.0 + 1.0 / 61.0);
        assert_eq!(fused[1].1, 1.0 / 61.0);
    }

    #[test]
    fn mirrored_ranks_tie_and_the_key_decides() {
        let fused = rank(vec![vec![("b", 2.0), ("a", 1.0)], vec![("a", 2.0), ("b", 1.0)]], 1);
        assert_eq!(fused[0].0, "a");
    }
}
