//! Vectors that were looked at: finite, in order, not too large.

use std::fmt;

use crate::error::VectorError;

/// A dense vector of finite values. Its dimension is compared with the store's when it is used.
#[derive(Clone, PartialEq)]
pub(crate) struct DenseVector(Vec<f32>);

impl DenseVector {
    pub(crate) fn parse(values: Vec<f32>) -> Result<Self, VectorError> {
        if values.is_empty() {
            return Err(VectorError::VectorEmpty);
        }
        ensure_usable(&values)?;
        Ok(Self(values))
    }

    pub(crate) fn dimension(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn into_values(self) -> Vec<f32> {
        self.0
    }

    pub(crate) fn values(&self) -> &[f32] {
        &self.0
    }
}

/// The weights of the terms of a text: pairs of a term's index and its weight in this text, the indices rising.
///
/// How rare a term is in the tenant's documents is the store's business; do not multiply by it.
#[derive(Clone, PartialEq, Default)]
pub struct SparseVector {
    indices: Vec<u32>,
    values: Vec<f32>,
}

impl SparseVector {
    /// The most terms of one vector.
    pub const MAX_TERMS: usize = 65_536;

    /// A vector of at least one term.
    ///
    /// # Errors
    /// [`VectorError::VectorEmpty`] (see [`empty`](Self::empty)), [`VectorError::SparseLengths`],
    /// [`VectorError::SparseOrder`], [`VectorError::NotFinite`], [`VectorError::TooMany`].
    pub fn new(indices: Vec<u32>, values: Vec<f32>) -> Result<Self, VectorError> {
        if indices.len() != values.len() {
            return Err(VectorError::SparseLengths { indices: indices.len(), values: values.len() });
        }
        if indices.is_empty() {
            return Err(VectorError::VectorEmpty);
        }
        if indices.len() > Self::MAX_TERMS {
            return Err(VectorError::TooMany { most: Self::MAX_TERMS });
        }
        if !indices.is_sorted_by(|one, next| one < next) {
            return Err(VectorError::SparseOrder);
        }
        ensure_usable(&values)?;
        Ok(Self { indices, values })
    }

    /// The vector of a text without terms. A point may have it; a query for it alone is refused.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Whether it has no terms.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// The indices, rising.
    #[must_use]
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The values, one an index.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The indices and values.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u32>, Vec<f32>) {
        (self.indices, self.values)
    }
}

impl fmt::Debug for SparseVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SparseVector({} terms)", self.indices.len())
    }
}

impl fmt::Debug for DenseVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DenseVector({})", self.0.len())
    }
}

/// Numbers whose products, summed over a whole vector, stay finite: a store's NaN score then is the store's fault.
fn ensure_usable(values: &[f32]) -> Result<(), VectorError> {
    if values.iter().all(|value| value.abs() <= MAX_VALUE) { Ok(()) } else { Err(VectorError::NotFinite) }
}

const MAX_VALUE: f32 = 1e12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_would_spoil_a_score_are_refused() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -1e13] {
            assert!(matches!(DenseVector::parse(vec![0.0, bad]), Err(VectorError::NotFinite)), "{bad}");
            assert!(matches!(SparseVector::new(vec![1], vec![bad]), Err(VectorError::NotFinite)), "{bad}");
        }
        assert!(DenseVector::parse(vec![0.0, -1e12]).is_ok());
        assert!(matches!(DenseVector::parse(vec![]), Err(VectorError::VectorEmpty)));
    }

    #[test]
    fn the_indices_of_a_sparse_vector_rise() {
        assert!(SparseVector::new(vec![1, 2, 9], vec![1.0; 3]).is_ok());
        for bad in [vec![2, 1, 9], vec![1, 1, 9], vec![1, 9, 9]] {
            assert!(matches!(SparseVector::new(bad, vec![1.0; 3]), Err(VectorError::SparseOrder)));
        }
        assert!(matches!(
            SparseVector::new(vec![1], vec![]),
            Err(VectorError::SparseLengths { indices: 1, values: 0 })
        ));
        assert!(matches!(SparseVector::new(vec![], vec![]), Err(VectorError::VectorEmpty)));
    }
}
