//! What a caller asks for.

use std::fmt;

use crate::error::VectorError;
use crate::filter::Filter;
use crate::vector::{DenseVector, SparseVector};

/// A query: one arm or two, how many hits, and perhaps a filter. Nothing in it can name a tenant.
///
/// There is no query by the id of a point: an engine looks such a point up without any filter, and the answer tells
/// whether it exists.
#[derive(Clone, PartialEq)]
pub struct VectorQuery {
    pub(crate) dense: Option<DenseVector>,
    pub(crate) sparse: Option<SparseVector>,
    pub(crate) limit: usize,
    pub(crate) filter: Option<Filter>,
}

impl VectorQuery {
    /// The most hits of one query.
    pub const MAX_LIMIT: usize = 1000;

    /// The points nearest to a vector, by cosine similarity. Ten of them unless [`limit`](Self::limit) says otherwise.
    ///
    /// # Errors
    /// [`VectorError::VectorEmpty`], [`VectorError::NotFinite`].
    pub fn dense(vector: Vec<f32>) -> Result<Self, VectorError> {
        Ok(Self::new(Some(DenseVector::parse(vector)?), None))
    }

    /// The points that share terms with a text, rare terms counting more. Rarity is taken from the tenant's own points
    /// alone, or the score would tell about its neighbours'.
    ///
    /// # Errors
    /// [`VectorError::VectorEmpty`].
    pub fn sparse(vector: SparseVector) -> Result<Self, VectorError> {
        if vector.is_empty() {
            return Err(VectorError::VectorEmpty);
        }
        Ok(Self::new(None, Some(vector)))
    }

    /// Both, fused by reciprocal ranks with k = 60 (Cormack, Clarke and Büttcher, 2009). A text without terms leaves
    /// the dense arm alone.
    ///
    /// # Errors
    /// As [`dense`](Self::dense).
    pub fn hybrid(dense: Vec<f32>, sparse: SparseVector) -> Result<Self, VectorError> {
        let sparse = (!sparse.is_empty()).then_some(sparse);
        Ok(Self::new(Some(DenseVector::parse(dense)?), sparse))
    }

    /// Sets how many hits come back at most.
    ///
    /// # Errors
    /// [`VectorError::BadLimit`] for 0 and for more than [`MAX_LIMIT`](Self::MAX_LIMIT).
    pub fn limit(mut self, hits: usize) -> Result<Self, VectorError> {
        if hits == 0 || hits > Self::MAX_LIMIT {
            return Err(VectorError::BadLimit { most: Self::MAX_LIMIT });
        }
        self.limit = hits;
        Ok(self)
    }

    /// Narrows the query, beside the tenant condition and never instead of it. A second filter is asked for too.
    ///
    /// # Errors
    /// [`VectorError::FilterEmpty`], [`VectorError::FilterTooLarge`].
    pub fn filter(mut self, filter: Filter) -> Result<Self, VectorError> {
        let all = match self.filter.take() {
            Some(first) => Filter::All(vec![first, filter]),
            None => filter,
        };
        all.ensure_sound()?;
        self.filter = Some(all);
        Ok(self)
    }

    const fn new(dense: Option<DenseVector>, sparse: Option<SparseVector>) -> Self {
        Self { dense, sparse, limit: DEFAULT_LIMIT, filter: None }
    }
}

impl fmt::Debug for VectorQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dense, sparse, limit, filter } = self;
        f.debug_struct("VectorQuery")
            .field("dense", dense)
            .field("sparse", sparse)
            .field("limit", limit)
            .field("filter", filter)
            .finish()
    }
}

const DEFAULT_LIMIT: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PayloadKey;

    #[test]
    fn limits_are_between_one_and_a_thousand() {
        let query = || VectorQuery::dense(vec![1.0]).unwrap();
        for bad in [0, 1001, usize::MAX] {
            assert!(matches!(query().limit(bad), Err(VectorError::BadLimit { most: 1000 })), "{bad}");
        }
        assert!(query().limit(1).is_ok() && query().limit(1000).is_ok());
    }

    #[test]
    fn a_query_needs_something_to_look_for() {
        assert!(matches!(VectorQuery::dense(vec![]), Err(VectorError::VectorEmpty)));
        assert!(matches!(VectorQuery::sparse(SparseVector::empty()), Err(VectorError::VectorEmpty)));
        assert!(matches!(VectorQuery::hybrid(vec![f32::NAN], SparseVector::empty()), Err(VectorError::NotFinite)));
        assert_eq!(VectorQuery::hybrid(vec![1.0], SparseVector::empty()).unwrap().sparse, None);
    }

    #[test]
    fn a_second_filter_narrows_further() {
        let of = |name: &str| Filter::Equals(PayloadKey::parse(name).unwrap(), true.into());
        let query = VectorQuery::dense(vec![1.0]).unwrap().filter(of("a")).unwrap().filter(of("b")).unwrap();
        assert_eq!(query.filter, Some(Filter::All(vec![of("a"), of("b")])));
    }
}
