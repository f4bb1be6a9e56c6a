//! Vectors on their way in and out.

use std::collections::{BTreeMap, HashMap};

use qdrant_edge::{
    SparseVector as EngineSparse, TypedMultiDenseVector, VectorInternal, VectorPersisted, VectorStructInternal,
    VectorStructPersisted,
};
use tenancy_vector::{BackendError, DenseVector, MultiVector, SparseVector, Vector, VectorError, VectorName};

/// The vectors of a point to store. A text without terms has none.
pub(crate) fn named(vectors: BTreeMap<VectorName, Vector>) -> VectorStructPersisted {
    let there = vectors.into_iter().filter(|(_, vector)| !vector.is_empty());
    let named = there.map(|(name, vector)| {
        let vector = match vector {
            Vector::Dense(dense) => VectorPersisted::Dense(dense.into_values()),
            Vector::Sparse(sparse) => VectorPersisted::Sparse(engine_sparse(sparse)),
            Vector::Multi(multi) => VectorPersisted::MultiDense(multi.into_rows()),
        };
        (name.as_str().to_owned(), vector)
    });
    VectorStructPersisted::Named(named.collect::<HashMap<_, _>>())
}

/// What to look for.
pub(crate) fn query_vector(vector: &Vector) -> VectorInternal {
    match vector {
        Vector::Dense(dense) => VectorInternal::Dense(dense.values().to_vec()),
        Vector::Sparse(sparse) => VectorInternal::Sparse(engine_sparse(sparse.clone())),
        Vector::Multi(multi) => VectorInternal::MultiDense(TypedMultiDenseVector {
            flattened_vectors: multi.rows().concat(),
            dim: multi.dimension(),
        }),
    }
}

/// The vectors of a stored point.
pub(crate) fn from_engine(vectors: Option<VectorStructInternal>) -> Result<BTreeMap<VectorName, Vector>, BackendError> {
    let named = match vectors {
        None => return Ok(BTreeMap::new()),
        Some(VectorStructInternal::Named(named)) => named,
        Some(VectorStructInternal::Single(_) | VectorStructInternal::MultiDense(_)) => {
            return Err(BackendError::because("a vector without a name"));
        }
    };
    let read = |(name, vector): (String, VectorInternal)| -> Result<_, VectorError> {
        let vector = match vector {
            VectorInternal::Dense(values) => Vector::Dense(DenseVector::new(values)?),
            VectorInternal::Sparse(EngineSparse { indices, values }) => {
                Vector::Sparse(SparseVector::new(indices, values)?)
            }
            VectorInternal::MultiDense(TypedMultiDenseVector { flattened_vectors, dim }) => {
                let rows = flattened_vectors.chunks(dim.max(1)).map(<[f32]>::to_vec).collect();
                Vector::Multi(MultiVector::new(rows)?)
            }
        };
        Ok((VectorName::parse(&name)?, vector))
    };
    named.into_iter().map(read).collect::<Result<_, _>>().map_err(BackendError::failed)
}

fn engine_sparse(vector: SparseVector) -> EngineSparse {
    let (indices, values) = vector.into_parts();
    EngineSparse { indices, values }
}
