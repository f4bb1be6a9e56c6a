//! Vectors that were looked at: finite, in order, not too large.

use std::fmt;

use crate::error::VectorError;

/// A dense vector of finite values. Its dimension is compared with the schema's when it is used.
#[derive(Clone, PartialEq)]
pub struct DenseVector(Vec<f32>);

impl DenseVector {
    /// A vector of at least one value.
    ///
    /// # Errors
    /// [`VectorError::VectorEmpty`], [`VectorError::NotFinite`].
    pub fn new(values: Vec<f32>) -> Result<Self, VectorError> {
        if values.is_empty() {
            return Err(VectorError::VectorEmpty);
        }
        ensure_usable(&values)?;
        Ok(Self(values))
    }

    /// How many values there are.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.0.len()
    }

    /// The values.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.0
    }

    /// The values.
    #[must_use]
    pub fn into_values(self) -> Vec<f32> {
        self.0
    }
}

/// Several vectors of one dimension, such as one for each word of a text.
#[derive(Clone, PartialEq)]
pub struct MultiVector {
    rows: Vec<Vec<f32>>,
}

impl MultiVector {
    /// The most rows.
    pub const MAX_ROWS: usize = 1024;

    /// A vector of at least one row.
    ///
    /// # Errors
    /// [`VectorError::VectorEmpty`], [`VectorError::NotFinite`], [`VectorError::TooMany`];
    /// [`VectorError::WrongDimension`] when the rows differ.
    pub fn new(rows: Vec<Vec<f32>>) -> Result<Self, VectorError> {
        let expected = rows.first().map_or(0, Vec::len);
        if expected == 0 {
            return Err(VectorError::VectorEmpty);
        }
        if rows.len() > Self::MAX_ROWS {
            return Err(VectorError::TooMany { most: Self::MAX_ROWS });
        }
        for row in &rows {
            if row.len() != expected {
                return Err(VectorError::WrongDimension { name: None, expected, found: row.len() });
            }
            ensure_usable(row)?;
        }
        Ok(Self { rows })
    }

    /// The dimension of each row.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }

    /// The rows.
    #[must_use]
    pub fn rows(&self) -> &[Vec<f32>] {
        &self.rows
    }

    /// The rows.
    #[must_use]
    pub fn into_rows(self) -> Vec<Vec<f32>> {
        self.rows
    }
}

/// A vector as a back end sees it.
#[derive(Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses a kind of vector must not compile")]
pub enum Vector {
    /// One dense vector.
    Dense(DenseVector),
    /// Weights of terms.
    Sparse(SparseVector),
    /// Several dense vectors.
    Multi(MultiVector),
}

impl Vector {
    /// Whether it is a text without terms: a point may have it, and a query finds nothing by it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Sparse(sparse) if sparse.is_empty())
    }

    /// How many bytes its numbers are.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Dense(dense) => 4 * dense.dimension(),
            Self::Sparse(sparse) => 8 * sparse.indices.len(),
            Self::Multi(multi) => 4 * multi.rows.len() * multi.dimension(),
        }
    }
}

impl From<DenseVector> for Vector {
    fn from(vector: DenseVector) -> Self {
        Self::Dense(vector)
    }
}

impl From<SparseVector> for Vector {
    fn from(vector: SparseVector) -> Self {
        Self::Sparse(vector)
    }
}

impl From<MultiVector> for Vector {
    fn from(vector: MultiVector) -> Self {
        Self::Multi(vector)
    }
}

/// What a caller hands in where a vector is meant.
#[derive(Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "an input is a vector or a text")]
pub enum Input {
    /// A vector.
    Vector(Vector),
    /// A text, for a vector that the schema has as [`VectorKind::Text`](crate::VectorKind::Text); at most
    /// [`MAX_TEXT_BYTES`](Self::MAX_TEXT_BYTES).
    Text(String),
}

impl Input {
    /// The most bytes of a text.
    pub const MAX_TEXT_BYTES: usize = 1024 * 1024;

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Vector(vector) => vector.bytes(),
            Self::Text(text) => text.len(),
        }
    }
}

impl<V: Into<Vector>> From<V> for Input {
    fn from(vector: V) -> Self {
        Self::Vector(vector.into())
    }
}

impl From<&str> for Input {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Input {
    fn from(text: String) -> Self {
        Self::Text(text)
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

impl fmt::Debug for MultiVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MultiVector({} x {})", self.rows.len(), self.dimension())
    }
}

impl fmt::Debug for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dense(vector) => vector.fmt(f),
            Self::Sparse(vector) => vector.fmt(f),
            Self::Multi(vector) => vector.fmt(f),
        }
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vector(vector) => vector.fmt(f),
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
        }
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
            assert!(matches!(DenseVector::new(vec![0.0, bad]), Err(VectorError::NotFinite)), "{bad}");
            assert!(matches!(SparseVector::new(vec![1], vec![bad]), Err(VectorError::NotFinite)), "{bad}");
        }
        assert!(DenseVector::new(vec![0.0, -1e12]).is_ok());
        assert!(matches!(DenseVector::new(vec![]), Err(VectorError::VectorEmpty)));
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
