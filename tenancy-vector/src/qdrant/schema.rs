//! A collection and its indexes, as a schema needs them.

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::payload_index_params::IndexParams;
use qdrant_client::qdrant::vectors_config;
use serde_json::Map;

use super::layout::QdrantLayout;
use super::value;
use crate::reserved;
use crate::schema::{Distance, IndexKind, Schema, VectorKind};

/// The key of a collection's metadata under which its schema is.
pub(super) const METADATA: &str = "tenancy_schema";

impl QdrantLayout {
    pub(super) fn create(&self, collection: &str, schema: &Schema) -> pb::CreateCollection {
        let dense = schema.vectors().filter_map(|(name, kind)| Some((name.as_str().to_owned(), params(kind)?)));
        let sparse = schema.vectors().filter_map(|(name, kind)| match kind {
            VectorKind::Sparse | VectorKind::Text(_) => {
                let modifier = Some(pb::Modifier::Idf.into());
                Some((name.as_str().to_owned(), pb::SparseVectorParams { index: None, modifier }))
            }
            VectorKind::Dense { .. } | VectorKind::Multi { .. } => None,
        });
        let metadata = Map::from_iter([(METADATA.to_owned(), schema.to_json())]);
        pb::CreateCollection {
            collection_name: collection.to_owned(),
            hnsw_config: self.graph(),
            vectors_config: Some(pb::VectorsConfig {
                config: Some(vectors_config::Config::ParamsMap(pb::VectorParamsMap { map: dense.collect() })),
            }),
            sparse_vectors_config: Some(pb::SparseVectorConfig { map: sparse.collect() }),
            sharding_method: Some(self.sharding().into()),
            metadata: value::payload(metadata),
            ..pb::CreateCollection::default()
        }
    }

    /// Where lives share a collection there is no graph over all of them, only one for each.
    fn graph(&self) -> Option<pb::HnswConfigDiff> {
        match self {
            Self::Shared { .. } => {
                Some(pb::HnswConfigDiff { m: Some(0), payload_m: Some(16), ..pb::HnswConfigDiff::default() })
            }
            Self::Collections { .. } | Self::ShardKeys { .. } => None,
        }
    }
}

/// The index that keeps the points of a life together, and has a graph for each.
pub(super) fn tenant_index(collection: &str) -> pb::CreateFieldIndexCollection {
    let params = pb::KeywordIndexParams { is_tenant: Some(true), ..pb::KeywordIndexParams::default() };
    index(collection, reserved::LIFE_PATH, pb::FieldType::Keyword, IndexParams::KeywordIndexParams(params))
}

pub(super) fn payload_index(collection: &str, key: &str, kind: IndexKind) -> pb::CreateFieldIndexCollection {
    let (field, params) = match kind {
        IndexKind::Keyword => {
            (pb::FieldType::Keyword, IndexParams::KeywordIndexParams(pb::KeywordIndexParams::default()))
        }
        IndexKind::Integer => {
            let params =
                pb::IntegerIndexParams { lookup: Some(true), range: Some(true), ..pb::IntegerIndexParams::default() };
            (pb::FieldType::Integer, IndexParams::IntegerIndexParams(params))
        }
        IndexKind::Float => (pb::FieldType::Float, IndexParams::FloatIndexParams(pb::FloatIndexParams::default())),
        IndexKind::Flag => (pb::FieldType::Bool, IndexParams::BoolIndexParams(pb::BoolIndexParams::default())),
        IndexKind::Datetime => {
            (pb::FieldType::Datetime, IndexParams::DatetimeIndexParams(pb::DatetimeIndexParams::default()))
        }
        IndexKind::Geo => (pb::FieldType::Geo, IndexParams::GeoIndexParams(pb::GeoIndexParams::default())),
        IndexKind::Words => {
            let params = pb::TextIndexParams {
                tokenizer: pb::TokenizerType::Word.into(),
                lowercase: Some(true),
                phrase_matching: Some(true),
                ..pb::TextIndexParams::default()
            };
            (pb::FieldType::Text, IndexParams::TextIndexParams(params))
        }
    };
    index(collection, key, field, params)
}

fn index(collection: &str, key: &str, field: pb::FieldType, params: IndexParams) -> pb::CreateFieldIndexCollection {
    pb::CreateFieldIndexCollection {
        collection_name: collection.to_owned(),
        wait: Some(true),
        field_name: key.to_owned(),
        field_type: Some(field.into()),
        field_index_params: Some(pb::PayloadIndexParams { index_params: Some(params) }),
        ordering: Some(pb::WriteOrdering { r#type: pb::WriteOrderingType::Strong.into() }),
        timeout: None,
    }
}

/// What the server calls a dense vector; none for one that is sparse.
fn params(kind: VectorKind) -> Option<pb::VectorParams> {
    let (dimension, distance, multivector_config) = match kind {
        VectorKind::Dense { dimension, distance } => (dimension, distance, None),
        VectorKind::Multi { dimension, distance } => {
            let comparator = pb::MultiVectorComparator::MaxSim.into();
            (dimension, distance, Some(pb::MultiVectorConfig { comparator }))
        }
        VectorKind::Sparse | VectorKind::Text(_) => return None,
    };
    let distance = wire_distance(distance).into();
    Some(pb::VectorParams { size: dimension as u64, distance, multivector_config, ..pb::VectorParams::default() })
}

pub(super) const fn wire_distance(distance: Distance) -> pb::Distance {
    match distance {
        Distance::Cosine => pb::Distance::Cosine,
        Distance::Dot => pb::Distance::Dot,
    }
}
