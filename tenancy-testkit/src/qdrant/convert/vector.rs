//! Vectors: dense, sparse, and several rows at once. Texts and images are refused, since nothing here turns them into
//! vectors.

use std::collections::HashMap;

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::vector::Vector as Kind;
use qdrant_edge::{
    SparseVector, TypedMultiDenseVector, VectorInternal, VectorPersisted, VectorStructInternal, VectorStructPersisted,
};
use tonic::Status;

use super::{missing, refused};

/// What a query holds.
pub(crate) fn plain(kind: Kind) -> Result<VectorInternal, Status> {
    Ok(match kind {
        Kind::Dense(dense) => VectorInternal::Dense(dense.data),
        Kind::Sparse(sparse) => VectorInternal::Sparse(self::sparse(sparse)?),
        Kind::MultiDense(rows) => {
            let rows = rows.vectors.into_iter().map(|row| row.data).collect();
            VectorInternal::MultiDense(TypedMultiDenseVector::try_from_matrix(rows).map_err(refused)?)
        }
        Kind::Document(_) | Kind::Image(_) | Kind::Object(_) => return Err(inference()),
    })
}

/// What a point is stored with.
pub(crate) fn stored(vectors: Option<pb::Vectors>) -> Result<VectorStructPersisted, Status> {
    use pb::vectors::VectorsOptions;
    let Some(pb::Vectors { vectors_options }) = vectors else {
        return Ok(VectorStructPersisted::Named(HashMap::new()));
    };
    match vectors_options.ok_or_else(|| missing("the vectors of a point"))? {
        VectorsOptions::Vector(vector) => Ok(match persisted(vector)? {
            VectorPersisted::Dense(dense) => VectorStructPersisted::Single(dense),
            VectorPersisted::MultiDense(rows) => VectorStructPersisted::MultiDense(rows),
            VectorPersisted::Sparse(_) => return Err(Status::invalid_argument("a sparse vector needs a name")),
        }),
        VectorsOptions::Vectors(named) => {
            let named = named.vectors.into_iter().map(|(name, vector)| Ok((name, persisted(vector)?)));
            named.collect::<Result<_, Status>>().map(VectorStructPersisted::Named)
        }
    }
}

/// The vectors of a record by name; the unnamed one has the empty name.
pub(crate) fn named(vectors: VectorStructInternal) -> HashMap<String, VectorInternal> {
    match vectors {
        VectorStructInternal::Single(dense) => HashMap::from([(String::new(), VectorInternal::Dense(dense))]),
        VectorStructInternal::MultiDense(rows) => HashMap::from([(String::new(), VectorInternal::MultiDense(rows))]),
        VectorStructInternal::Named(named) => named,
    }
}

/// The vectors of a record as the wire has them.
pub(crate) fn wire_vectors(vectors: VectorStructInternal) -> pb::VectorsOutput {
    use pb::vectors_output::VectorsOptions;
    let options = match vectors {
        VectorStructInternal::Single(dense) => VectorsOptions::Vector(wire(VectorInternal::Dense(dense))),
        VectorStructInternal::MultiDense(rows) => VectorsOptions::Vector(wire(VectorInternal::MultiDense(rows))),
        VectorStructInternal::Named(named) => VectorsOptions::Vectors(pb::NamedVectorsOutput {
            vectors: named.into_iter().map(|(name, vector)| (name, wire(vector))).collect(),
        }),
    };
    pb::VectorsOutput { vectors_options: Some(options) }
}

fn wire(vector: VectorInternal) -> pb::VectorOutput {
    use pb::vector_output::Vector;
    let vector = match vector {
        VectorInternal::Dense(data) => Vector::Dense(pb::DenseVector { data }),
        VectorInternal::Sparse(SparseVector { indices, values }) => {
            Vector::Sparse(pb::SparseVector { values, indices })
        }
        VectorInternal::MultiDense(rows) => Vector::MultiDense(pb::MultiDenseVector {
            vectors: rows.into_multi_vectors().into_iter().map(|data| pb::DenseVector { data }).collect(),
        }),
    };
    pb::VectorOutput { vector: Some(vector), ..Default::default() }
}

fn persisted(vector: pb::Vector) -> Result<VectorPersisted, Status> {
    Ok(match plain(kind(vector)?)? {
        VectorInternal::Dense(dense) => VectorPersisted::Dense(dense),
        VectorInternal::Sparse(sparse) => VectorPersisted::Sparse(sparse),
        VectorInternal::MultiDense(rows) => VectorPersisted::MultiDense(rows.into_multi_vectors()),
    })
}

/// Clients before 1.16 send the numbers beside the kind; they are read as servers still read them.
#[expect(deprecated, reason = "older clients send them")]
fn kind(vector: pb::Vector) -> Result<Kind, Status> {
    let pb::Vector { data, indices, vectors_count, vector } = vector;
    Ok(match (vector, indices, vectors_count) {
        (Some(kind), _, _) => kind,
        (None, Some(indices), _) => Kind::Sparse(pb::SparseVector { values: data, indices: indices.data }),
        (None, None, Some(rows)) if rows > 1 => {
            let width = data.len() / rows as usize;
            if width == 0 || width * rows as usize != data.len() {
                return Err(Status::invalid_argument("the rows of a vector differ in length"));
            }
            let vectors = data.chunks(width).map(|row| pb::DenseVector { data: row.to_vec() }).collect();
            Kind::MultiDense(pb::MultiDenseVector { vectors })
        }
        (None, None, _) => Kind::Dense(pb::DenseVector { data }),
    })
}

/// In order of the indices, each of which appears once.
fn sparse(vector: pb::SparseVector) -> Result<SparseVector, Status> {
    let pb::SparseVector { values, indices } = vector;
    if values.len() != indices.len() {
        return Err(Status::invalid_argument("a sparse vector must have as many values as indices"));
    }
    let mut entries: Vec<_> = indices.into_iter().zip(values).collect();
    entries.sort_unstable_by_key(|(index, _)| *index);
    if entries.windows(2).any(|pair| matches!(pair, [(a, _), (b, _)] if a == b)) {
        return Err(Status::invalid_argument("the indices of a sparse vector must be unique"));
    }
    let (indices, values) = entries.into_iter().unzip();
    Ok(SparseVector { indices, values })
}

fn inference() -> Status {
    Status::invalid_argument("this server turns nothing into vectors: inference is not configured")
}
