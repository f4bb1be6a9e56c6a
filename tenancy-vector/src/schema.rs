//! Which vectors the points of a store have.

use crate::error::VectorError;
use crate::query::VectorQuery;
use crate::vector::{DenseVector, SparseVector};

/// Which vectors the points of a store have: a dense one compared by cosine similarity, and with
/// [`hybrid`](Self::hybrid) a sparse one for the lexical arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema {
    dimension: usize,
    sparse: bool,
}

impl Schema {
    /// The largest dimension.
    pub const MAX_DIMENSION: usize = 65_536;

    /// A dense vector of this dimension and a sparse one.
    ///
    /// # Errors
    /// [`VectorError::BadDimension`] for 0 and for more than [`MAX_DIMENSION`](Self::MAX_DIMENSION).
    pub const fn hybrid(dimension: usize) -> Result<Self, VectorError> {
        if dimension == 0 || dimension > Self::MAX_DIMENSION {
            return Err(VectorError::BadDimension { limit: Self::MAX_DIMENSION });
        }
        Ok(Self { dimension, sparse: true })
    }

    /// A dense vector of this dimension alone.
    ///
    /// # Errors
    /// As [`hybrid`](Self::hybrid).
    pub fn dense(dimension: usize) -> Result<Self, VectorError> {
        Self::hybrid(dimension).map(|schema| Self { sparse: false, ..schema })
    }

    /// The dimension of the dense vector.
    #[must_use]
    pub const fn dimension(&self) -> usize {
        self.dimension
    }

    /// Whether there is a sparse vector.
    #[must_use]
    pub const fn has_sparse(&self) -> bool {
        self.sparse
    }

    pub(crate) fn admit(&self, dense: Option<&DenseVector>, sparse: Option<&SparseVector>) -> Result<(), VectorError> {
        if let Some(dense) = dense.filter(|dense| dense.dimension() != self.dimension) {
            return Err(VectorError::WrongDimension { expected: self.dimension, found: dense.dimension() });
        }
        if !self.sparse && sparse.is_some_and(|sparse| !sparse.is_empty()) {
            return Err(VectorError::UnknownVector);
        }
        Ok(())
    }

    pub(crate) fn admit_query(&self, query: &VectorQuery) -> Result<(), VectorError> {
        self.admit(query.dense.as_ref(), query.sparse.as_ref())
    }
}
