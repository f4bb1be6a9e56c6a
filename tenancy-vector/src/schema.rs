//! Which vectors the points of a store have, and which of their payload's keys are indexed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::error::VectorError;
use crate::name::VectorName;
use crate::payload::PayloadKey;
use crate::text::TextOptions;
use crate::vector::Vector;

/// Which vectors the points of a store have, and which keys of their payload are indexed. Cheap to clone.
///
/// The same for all tenants of a store: it is the operator's, not a tenant's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    inner: Arc<Inner>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Inner {
    vectors: BTreeMap<VectorName, VectorKind>,
    indexes: BTreeMap<PayloadKey, IndexKind>,
}

/// What a named vector is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses a kind of vector must not compile")]
pub enum VectorKind {
    /// One vector of a fixed dimension.
    Dense {
        /// The dimension.
        dimension: usize,
        /// How two of them are compared.
        distance: Distance,
    },
    /// Weights of terms, made by the caller. How rare a term is among the life's points, the back end counts.
    Sparse,
    /// Several vectors of one dimension, compared by the sum of best matches (late interaction, MaxSim).
    Multi {
        /// The dimension of each.
        dimension: usize,
        /// How two of them are compared.
        distance: Distance,
    },
    /// A text, whose weights of terms this crate makes (BM25). To a back end it is [`Sparse`](Self::Sparse).
    Text(TextOptions),
}

/// How vectors are compared. Higher is better in both; engines' other distances turn that around, and one mistaken for
/// the other ranks the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses a distance must not compile")]
pub enum Distance {
    /// The cosine of the angle.
    Cosine,
    /// The scalar product.
    Dot,
}

/// What the values of an indexed key are. Facets, groups, orders and searches for words need an index on their key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses a kind of index must not compile")]
pub enum IndexKind {
    /// Texts, compared as a whole.
    Keyword,
    /// Whole numbers.
    Integer,
    /// Numbers.
    Float,
    /// Truth values.
    Flag,
    /// Points in time, RFC 3339.
    Datetime,
    /// Places: `{"lon": .., "lat": ..}`.
    Geo,
    /// Texts, searched by word.
    Words,
}

impl Schema {
    /// The largest dimension.
    pub const MAX_DIMENSION: usize = 65_536;

    /// A dense vector of this dimension, `dense`, compared by cosine, and a sparse one, `sparse`.
    ///
    /// # Errors
    /// [`VectorError::BadDimension`] for 0 and for more than [`MAX_DIMENSION`](Self::MAX_DIMENSION).
    pub fn hybrid(dimension: usize) -> Result<Self, VectorError> {
        Self::dense(dimension)?.with(VectorName::sparse(), VectorKind::Sparse)
    }

    /// A dense vector of this dimension alone, `dense`, compared by cosine.
    ///
    /// # Errors
    /// As [`hybrid`](Self::hybrid).
    pub fn dense(dimension: usize) -> Result<Self, VectorError> {
        Self::new().with(VectorName::dense(), VectorKind::Dense { dimension, distance: Distance::Cosine })
    }

    /// No vectors yet.
    #[must_use]
    pub fn new() -> Self {
        Self { inner: Arc::default() }
    }

    /// With one more vector.
    ///
    /// # Errors
    /// [`VectorError::BadDimension`]; [`VectorError::DuplicateName`].
    pub fn with(mut self, name: VectorName, kind: VectorKind) -> Result<Self, VectorError> {
        match kind {
            VectorKind::Dense { dimension, .. } | VectorKind::Multi { dimension, .. }
                if dimension == 0 || dimension > Self::MAX_DIMENSION =>
            {
                return Err(VectorError::BadDimension { limit: Self::MAX_DIMENSION });
            }
            VectorKind::Dense { .. } | VectorKind::Multi { .. } | VectorKind::Sparse | VectorKind::Text(_) => {}
        }
        if self.vector(&name).is_some() {
            return Err(VectorError::DuplicateName(name));
        }
        Arc::make_mut(&mut self.inner).vectors.insert(name, kind);
        Ok(self)
    }

    /// With an index on a key of the payload. The last one for a key counts.
    #[must_use]
    pub fn index(mut self, key: PayloadKey, kind: IndexKind) -> Self {
        Arc::make_mut(&mut self.inner).indexes.insert(key, kind);
        self
    }

    /// The vectors, by name.
    pub fn vectors(&self) -> impl Iterator<Item = (&VectorName, VectorKind)> {
        self.inner.vectors.iter().map(|(name, kind)| (name, *kind))
    }

    /// What a vector is.
    #[must_use]
    pub fn vector(&self, name: &VectorName) -> Option<VectorKind> {
        self.inner.vectors.get(name).copied()
    }

    /// The indexed keys.
    pub fn indexes(&self) -> impl Iterator<Item = (&PayloadKey, IndexKind)> {
        self.inner.indexes.iter().map(|(key, kind)| (key, *kind))
    }

    /// What the values of a key are, if it is indexed.
    #[must_use]
    pub fn index_of(&self, key: &PayloadKey) -> Option<IndexKind> {
        self.inner.indexes.get(key).copied()
    }

    /// Refuses a vector that does not fit under its name.
    pub(crate) fn admit(&self, name: &VectorName, vector: &Vector) -> Result<(), VectorError> {
        let (expected, found) = match (self.vector(name), vector) {
            (Some(VectorKind::Dense { dimension, .. }), Vector::Dense(dense)) => (dimension, dense.dimension()),
            (Some(VectorKind::Multi { dimension, .. }), Vector::Multi(multi)) => (dimension, multi.dimension()),
            (Some(VectorKind::Sparse | VectorKind::Text(_)), Vector::Sparse(_)) => return Ok(()),
            (None, _) => return Err(VectorError::UnknownVector(name.clone())),
            (Some(_), Vector::Dense(_) | Vector::Multi(_) | Vector::Sparse(_)) => {
                return Err(VectorError::WrongKind(name.clone()));
            }
        };
        if expected == found {
            return Ok(());
        }
        Err(VectorError::WrongDimension { name: Some(name.clone()), expected, found })
    }

    /// The schema as JSON, for a manifest beside the points. The same schema is the same text.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let vectors = self.vectors().map(|(name, kind)| {
            let kind = match kind {
                VectorKind::Dense { dimension, distance } => json!(["dense", dimension, distance.as_str()]),
                VectorKind::Sparse => json!(["sparse"]),
                VectorKind::Multi { dimension, distance } => json!(["multi", dimension, distance.as_str()]),
                VectorKind::Text(options) => json!(["text", options.to_json()]),
            };
            (name.as_str().to_owned(), kind)
        });
        let indexes = self.indexes().map(|(key, kind)| (key.as_str().to_owned(), json!(kind.as_str())));
        json!({ "vectors": vectors.collect::<Map<_, _>>(), "indexes": indexes.collect::<Map<_, _>>() })
    }

    /// Reads what [`to_json`](Self::to_json) wrote; `None` for anything else.
    #[must_use]
    pub fn from_json(value: &Value) -> Option<Self> {
        let mut schema = Self::new();
        for (name, kind) in value.get("vectors")?.as_object()? {
            let field = |at| kind.get(at);
            let dimension = || usize::try_from(field(1)?.as_u64()?).ok();
            let distance = || Distance::parse(field(2)?.as_str()?);
            let kind = match field(0)?.as_str()? {
                "dense" => VectorKind::Dense { dimension: dimension()?, distance: distance()? },
                "multi" => VectorKind::Multi { dimension: dimension()?, distance: distance()? },
                "sparse" => VectorKind::Sparse,
                "text" => VectorKind::Text(TextOptions::from_json(field(1)?)?),
                _ => return None,
            };
            schema = schema.with(VectorName::parse(name).ok()?, kind).ok()?;
        }
        for (key, kind) in value.get("indexes")?.as_object()? {
            schema = schema.index(PayloadKey::parse(key).ok()?, IndexKind::parse(kind.as_str()?)?);
        }
        Some(schema)
    }
}

impl Default for Schema {
    fn default() -> Self {
        Self::new()
    }
}

impl Distance {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::Dot => "dot",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Cosine, Self::Dot].into_iter().find(|distance| distance.as_str() == text)
    }
}

impl IndexKind {
    const ALL: [Self; 7] =
        [Self::Keyword, Self::Integer, Self::Float, Self::Flag, Self::Datetime, Self::Geo, Self::Words];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Keyword => "keyword",
            Self::Integer => "integer",
            Self::Float => "float",
            Self::Flag => "flag",
            Self::Datetime => "datetime",
            Self::Geo => "geo",
            Self::Words => "words",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}
