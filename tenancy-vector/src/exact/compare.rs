//! How near a point is to a vector.

use std::collections::{BTreeMap, HashMap};

use crate::name::VectorName;
use crate::request::TaggedPoint;
use crate::schema::{Distance, Schema, VectorKind};
use crate::vector::{DenseVector, MultiVector, SparseVector, Vector};

/// How the vectors of one name are compared.
pub(super) struct Comparison<'a> {
    using: &'a VectorName,
    distance: Distance,
    rarity: &'a Rarity,
}

impl<'a> Comparison<'a> {
    pub(super) fn of(schema: &Schema, using: &'a VectorName, rarity: &'a Rarity) -> Self {
        let distance = match schema.vector(using) {
            Some(VectorKind::Dense { distance, .. } | VectorKind::Multi { distance, .. }) => distance,
            Some(VectorKind::Sparse | VectorKind::Text(_)) | None => Distance::Dot,
        };
        Self { using, distance, rarity }
    }

    /// The score of a search for a vector; `None` where the point has none, or no term in common.
    pub(super) fn score(&self, wanted: &Vector, point: &TaggedPoint) -> Option<f32> {
        match (wanted, point.vectors().get(self.using)?) {
            (Vector::Sparse(wanted), Vector::Sparse(there)) => {
                overlap(wanted, there, |index| self.rarity.weight(index))
            }
            (wanted, there) => self.between(wanted, there),
        }
    }

    /// How near a point is to an example; a sparse one without a common term is as far as can be.
    pub(super) fn near(&self, example: &Vector, point: &TaggedPoint) -> Option<f32> {
        match (example, point.vectors().get(self.using)?) {
            (Vector::Sparse(one), Vector::Sparse(two)) => {
                Some(overlap(one, two, |index| self.rarity.weight(index)).unwrap_or_default())
            }
            (one, two) => self.between(one, two),
        }
    }

    /// How alike two points are.
    pub(super) fn alike(&self, one: &TaggedPoint, two: &TaggedPoint) -> Option<f32> {
        match (one.vectors().get(self.using)?, two.vectors().get(self.using)?) {
            (Vector::Sparse(one), Vector::Sparse(two)) => Some(overlap(one, two, |_| 1.0).unwrap_or_default()),
            (one, two) => self.between(one, two),
        }
    }

    fn between(&self, one: &Vector, two: &Vector) -> Option<f32> {
        match (one, two) {
            (Vector::Dense(one), Vector::Dense(two)) => Some(self.rows(one.values(), two.values())),
            (Vector::Multi(one), Vector::Multi(two)) => {
                let best = |row: &Vec<f32>| {
                    two.rows().iter().map(|other| self.rows(row, other)).fold(f32::NEG_INFINITY, f32::max)
                };
                Some(one.rows().iter().map(best).sum())
            }
            (Vector::Dense(_) | Vector::Multi(_) | Vector::Sparse(_), _) => None,
        }
    }

    fn rows(&self, one: &[f32], two: &[f32]) -> f32 {
        match self.distance {
            Distance::Dot => product(one, two),
            Distance::Cosine => {
                let lengths = (product(one, one) * product(two, two)).sqrt();
                if lengths > 0.0 { product(one, two) / lengths } else { 0.0 }
            }
        }
    }
}

/// Brings vectors that are compared by cosine to length 1, as engines keep them.
pub(crate) fn normalize(schema: &Schema, vectors: &mut BTreeMap<VectorName, Vector>) {
    for (name, vector) in vectors {
        let Some(VectorKind::Dense { distance, .. } | VectorKind::Multi { distance, .. }) = schema.vector(name) else {
            continue;
        };
        let unit = match (distance, &*vector) {
            (Distance::Cosine, Vector::Dense(dense)) => DenseVector::new(unit(dense.values())).map(Vector::Dense),
            (Distance::Cosine, Vector::Multi(multi)) => {
                MultiVector::new(multi.rows().iter().map(|row| unit(row)).collect()).map(Vector::Multi)
            }
            (Distance::Dot, _) | (Distance::Cosine, Vector::Sparse(_)) => continue,
        };
        // Of length 1 and of the same dimension, so there is nothing to refuse.
        if let Ok(unit) = unit {
            *vector = unit;
        }
    }
}

fn unit(values: &[f32]) -> Vec<f32> {
    let length = product(values, values).sqrt();
    values.iter().map(|value| if length > 0.0 { value / length } else { *value }).collect()
}

/// In how many of a life's points each term of a sparse vector is.
#[derive(Default)]
pub(crate) struct Rarity {
    points: f32,
    holding: HashMap<u32, f32>,
}

impl Rarity {
    /// As somebody else counted: how many points have the vector, and how many of them each term.
    #[cfg(feature = "pgvector")]
    pub(crate) fn counted(points: f32, holding: HashMap<u32, f32>) -> Self {
        Self { points, holding }
    }

    /// Counted over all points of the life, whatever is searched for among them.
    pub(crate) fn of(using: &VectorName, own: &[&TaggedPoint]) -> Self {
        let mut rarity = Self { points: 0.0, holding: HashMap::new() };
        for point in own {
            let Some(Vector::Sparse(sparse)) = point.vectors().get(using) else { continue };
            rarity.points += 1.0;
            for index in sparse.indices() {
                *rarity.holding.entry(*index).or_default() += 1.0;
            }
        }
        rarity
    }

    fn weight(&self, index: u32) -> f32 {
        let holding = self.holding.get(&index).copied().unwrap_or_default();
        ((self.points - holding + 0.5) / (holding + 0.5) + 1.0).ln()
    }
}

fn overlap(one: &SparseVector, two: &SparseVector, weight: impl Fn(u32) -> f32) -> Option<f32> {
    let terms = one.indices().iter().zip(one.values());
    let common = terms.filter_map(|(index, value)| {
        let place = two.indices().binary_search(index).ok()?;
        Some(value * weight(*index) * two.values()[place])
    });
    common.reduce(|sum, term| sum + term)
}

fn product(one: &[f32], two: &[f32]) -> f32 {
    one.iter().zip(two).map(|(one, two)| one * two).sum()
}
