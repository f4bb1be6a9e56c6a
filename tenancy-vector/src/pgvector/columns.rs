//! Where the vectors of a point are kept.

use super::error::PgVectorError;
use crate::name::VectorName;
use crate::schema::{Schema, VectorKind};

/// The columns of one vector.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: VectorName,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// `v_<name> vector(n)`, of length 1 where it is compared by cosine: the scalar product then ranks both.
    Dense(usize),
    /// `v_<name> real[]`, row after row.
    Multi(usize),
    /// `t_<name> bigint[]` and `w_<name> real[]`: pgvector's own sparse vectors hold fewer terms than ours, and know nothing
    /// of how rare one is.
    Sparse,
}

impl Column {
    pub(super) fn all(schema: &Schema) -> Result<Vec<Self>, PgVectorError> {
        let column = |(name, kind): (&VectorName, _)| {
            let kind = match kind {
                VectorKind::Dense { dimension, .. } if dimension > MAX_DIMENSION => {
                    return Err(PgVectorError::Dimension { limit: MAX_DIMENSION });
                }
                VectorKind::Dense { dimension, .. } => Kind::Dense(dimension),
                VectorKind::Multi { dimension, .. } => Kind::Multi(dimension),
                VectorKind::Sparse | VectorKind::Text(_) => Kind::Sparse,
            };
            if name.as_str().len() > MAX_NAME {
                return Err(PgVectorError::VectorName { limit: MAX_NAME });
            }
            Ok(Self { name: name.clone(), kind })
        };
        schema.vectors().map(column).collect()
    }

    /// The column of the values, or of the terms: it is NULL where the point has no such vector.
    pub(super) fn value(&self) -> String {
        let prefix = match self.kind {
            Kind::Dense(_) | Kind::Multi(_) => "v",
            Kind::Sparse => "t",
        };
        format!("{prefix}_{}", self.name.as_str())
    }

    pub(super) const fn dimension(&self) -> Option<usize> {
        match self.kind {
            Kind::Dense(dimension) => Some(dimension),
            Kind::Multi(_) | Kind::Sparse => None,
        }
    }

    /// Each column with its type, as the catalog prints it.
    pub(super) fn parts(&self) -> Vec<(String, String)> {
        let name = self.name.as_str();
        match self.kind {
            Kind::Dense(dimension) => vec![(self.value(), format!("vector({dimension})"))],
            Kind::Multi(_) => vec![(self.value(), "real[]".to_owned())],
            Kind::Sparse => vec![(self.value(), "bigint[]".to_owned()), (format!("w_{name}"), "real[]".to_owned())],
        }
    }

    pub(super) fn definition(&self) -> String {
        let parts: Vec<_> = self.parts().into_iter().map(|(name, kind)| format!("{name} {kind}")).collect();
        parts.join(", ")
    }
}

/// What `vector` holds.
const MAX_DIMENSION: usize = 16_000;
/// What an HNSW index takes.
pub(super) const MAX_INDEXED: usize = 2_000;
/// Of the 63 bytes of a name two are ours.
const MAX_NAME: usize = 61;
