//! How the engine is set up.

use std::num::NonZeroUsize;

use qdrant_edge::{
    CreateIndex, Distance, EdgeConfig, EdgeConfigBuilder, EdgeSparseVectorParamsBuilder, EdgeVectorParamsBuilder,
    FieldIndexOperations, Modifier, PayloadFieldSchema, PayloadSchemaType, UpdateOperation, WalOptions,
};
use tenancy_vector::{BackendError, Schema, reserved};

use crate::lower;

/// The name of the dense vector in the engine.
pub(crate) const DENSE: &str = "dense";

/// The name of the sparse vector in the engine.
pub(crate) const SPARSE: &str = "sparse";

pub(crate) fn config(schema: Schema) -> EdgeConfig {
    let dense = EdgeVectorParamsBuilder::new(schema.dimension(), Distance::Cosine).build();
    let config = EdgeConfigBuilder::new().vector(DENSE, dense).wal_options(WalOptions {
        // The engine's default is 32 MiB for each shard. The log serves no purpose here: every write is flushed.
        segment_capacity: 1 << 20,
        segment_queue_len: 0,
        retain_closed: NonZeroUsize::MIN,
    });
    if !schema.has_sparse() {
        return config.build();
    }
    // Rarity of terms is counted over the shard, which is the life: nobody else's points change a score.
    let sparse = EdgeSparseVectorParamsBuilder::new().modifier(Modifier::Idf).build();
    config.sparse_vector(SPARSE, sparse).build()
}

/// The index on the life in the tag.
pub(crate) fn life_index() -> Result<UpdateOperation, BackendError> {
    Ok(UpdateOperation::FieldIndexOperation(FieldIndexOperations::CreateIndex(CreateIndex {
        field_name: lower::path(reserved::LIFE_PATH)?,
        field_schema: Some(PayloadFieldSchema::FieldType(PayloadSchemaType::Keyword)),
    })))
}
