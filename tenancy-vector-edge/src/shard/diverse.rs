//! Points that are near to a vector and unlike each other. Chosen here: the engine can't with weights of terms, and takes
//! either of two that are as good.

use tenancy_vector::Vector;

use super::search::{Key, Ranked};

/// Of the nearest, one after the other the one that is most near and least like those taken (maximal marginal relevance,
/// Carbonell and Goldstein, 1998).
pub(super) fn pick(mut nearest: Vec<(Key, f32, Vector)>, diversity: f32, limit: usize) -> Ranked {
    let mut taken: Vec<(Key, f32, Vector)> = Vec::new();
    while taken.len() < limit && !nearest.is_empty() {
        let worth = |(_, score, vector): &(Key, f32, Vector)| {
            let alike = taken.iter().map(|(_, _, other)| alike(vector, other)).reduce(f32::max);
            alike.map_or(*score, |alike| (1.0 - diversity) * score - diversity * alike)
        };
        // The first of the best: they come in order.
        let best = nearest.iter().map(worth).enumerate().rev().max_by(|(_, one), (_, two)| one.total_cmp(two));
        let Some((at, _)) = best else { break };
        taken.push(nearest.remove(at));
    }
    taken.into_iter().map(|(key, score, _)| (key, score)).collect()
}

/// How alike two stored vectors are. Those that are compared by cosine have length 1.
fn alike(one: &Vector, two: &Vector) -> f32 {
    match (one, two) {
        (Vector::Dense(one), Vector::Dense(two)) => product(one.values(), two.values()),
        (Vector::Multi(one), Vector::Multi(two)) => {
            let best = |row: &Vec<f32>| two.rows().iter().map(|other| product(row, other)).reduce(f32::max);
            one.rows().iter().filter_map(best).sum()
        }
        (Vector::Sparse(one), Vector::Sparse(two)) => {
            let terms = one.indices().iter().zip(one.values());
            let common = terms.filter_map(|(index, value)| {
                let at = two.indices().binary_search(index).ok()?;
                two.values().get(at).map(|other| value * other)
            });
            common.sum()
        }
        (Vector::Dense(_) | Vector::Multi(_) | Vector::Sparse(_), _) => 0.0,
    }
}

fn product(one: &[f32], two: &[f32]) -> f32 {
    one.iter().zip(two).map(|(one, two)| one * two).sum()
}
