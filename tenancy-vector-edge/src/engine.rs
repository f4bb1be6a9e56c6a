//! How the engine is set up for a schema.

use std::num::NonZeroUsize;

use qdrant_edge::{
    CreateIndex, Distance as EngineDistance, EdgeConfig, EdgeConfigBuilder, EdgeSparseVectorParamsBuilder,
    EdgeVectorParamsBuilder, FieldIndexOperations, Modifier, MultiVectorComparator, MultiVectorConfig,
    PayloadFieldSchema, PayloadSchemaParams, PayloadSchemaType, TextIndexParams, TokenizerType, UpdateOperation,
    WalOptions,
};
use tenancy_vector::{BackendError, Distance, IndexKind, Schema, VectorKind, reserved};

use crate::lower;

/// The vectors of a schema as the engine has them.
pub(crate) fn config(schema: &Schema) -> EdgeConfig {
    let config = EdgeConfigBuilder::new().wal_options(WalOptions {
        // The engine's default is 32 MiB for each shard. The log serves no purpose here: every write is flushed.
        segment_capacity: 1 << 20,
        segment_queue_len: 0,
        retain_closed: NonZeroUsize::MIN,
    });
    let config = schema.vectors().fold(config, |config, (name, kind)| match kind {
        VectorKind::Dense { dimension, distance } => {
            config.vector(name.as_str(), EdgeVectorParamsBuilder::new(dimension, engine(distance)).build())
        }
        VectorKind::Multi { dimension, distance } => {
            let best_matches = MultiVectorConfig { comparator: MultiVectorComparator::MaxSim };
            let multi = EdgeVectorParamsBuilder::new(dimension, engine(distance)).multivector_config(best_matches);
            config.vector(name.as_str(), multi.build())
        }
        VectorKind::Sparse | VectorKind::Text(_) => {
            // Rarity of terms is counted over the shard, which is the life: nobody else's points change a score.
            let sparse = EdgeSparseVectorParamsBuilder::new().modifier(Modifier::Idf).build();
            config.sparse_vector(name.as_str(), sparse)
        }
    });
    config.build()
}

/// The index on the life in the tag, and those of the schema.
pub(crate) fn indexes(schema: &Schema) -> Result<Vec<UpdateOperation>, BackendError> {
    let life = create(reserved::LIFE_PATH, PayloadFieldSchema::FieldType(PayloadSchemaType::Keyword));
    let own = schema.indexes().map(|(key, kind)| create(key.as_str(), field(kind)));
    std::iter::once(life).chain(own).collect()
}

fn create(path: &str, field: PayloadFieldSchema) -> Result<UpdateOperation, BackendError> {
    Ok(UpdateOperation::FieldIndexOperation(FieldIndexOperations::CreateIndex(CreateIndex {
        field_name: lower::path(path)?,
        field_schema: Some(field),
    })))
}

fn field(kind: IndexKind) -> PayloadFieldSchema {
    PayloadFieldSchema::FieldType(match kind {
        IndexKind::Keyword => PayloadSchemaType::Keyword,
        IndexKind::Integer => PayloadSchemaType::Integer,
        IndexKind::Float => PayloadSchemaType::Float,
        IndexKind::Flag => PayloadSchemaType::Bool,
        IndexKind::Datetime => PayloadSchemaType::Datetime,
        IndexKind::Geo => PayloadSchemaType::Geo,
        IndexKind::Words => {
            // Whole words, whatever their case, and where they stand: phrases need that.
            return PayloadFieldSchema::FieldParams(PayloadSchemaParams::Text(TextIndexParams {
                tokenizer: TokenizerType::Word,
                lowercase: Some(true),
                phrase_matching: Some(true),
                ..TextIndexParams::default()
            }));
        }
    })
}

const fn engine(distance: Distance) -> EngineDistance {
    match distance {
        Distance::Cosine => EngineDistance::Cosine,
        Distance::Dot => EngineDistance::Dot,
    }
}
