//! Whether a collection that is there is the one that is needed. Looked at before anything is served from it: a vector
//! compared in another way ranks the worst first, and terms weighed otherwise tell about other tenants.

use std::collections::HashMap;

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::payload_index_params::IndexParams;
use qdrant_client::qdrant::vectors_config;

use super::error::Drift;
use super::schema::{METADATA, wire_distance};
use super::{value, write};
use crate::name::VectorName;
use crate::payload::PayloadKey;
use crate::query::VectorQuery;
use crate::reserved;
use crate::schema::{IndexKind, Schema, VectorKind};

/// What is not there yet.
pub(super) struct Missing<'s> {
    pub(super) tenant_index: bool,
    pub(super) indexes: Vec<(&'s PayloadKey, IndexKind)>,
}

/// What of a schema is missing in a collection, or in what the two can't be brought together.
pub(super) fn compare<'s>(
    schema: &'s Schema,
    sharding: pb::ShardingMethod,
    seconds: u64,
    info: &pb::CollectionInfo,
) -> Result<Missing<'s>, Drift> {
    let config = info.config.as_ref().ok_or(Drift::Unknown)?;
    let params = config.params.as_ref().ok_or(Drift::Unknown)?;
    if params.sharding_method.unwrap_or_default() != i32::from(sharding) {
        return Err(Drift::Sharding);
    }
    vectors(schema, params)?;
    if let Some(strict) = config.strict_mode_config.as_ref().filter(|strict| strict.enabled == Some(true)) {
        strict_mode(strict, seconds)?;
    }
    if let Some(made_for) = value::payload_back(config.metadata.clone()).get(METADATA)
        && made_for.get("vectors") != schema.to_json().get("vectors")
    {
        return Err(Drift::Schema);
    }
    indexes(schema, &info.payload_schema)
}

fn vectors(schema: &Schema, params: &pb::CollectionParams) -> Result<(), Drift> {
    let none = HashMap::new();
    let dense = match params.vectors_config.as_ref().and_then(|config| config.config.as_ref()) {
        Some(vectors_config::Config::ParamsMap(map)) => &map.map,
        Some(vectors_config::Config::Params(_)) => return Err(Drift::Unnamed),
        None => &none,
    };
    let none = HashMap::new();
    let sparse = params.sparse_vectors_config.as_ref().map_or(&none, |config| &config.map);
    for (name, kind) in schema.vectors() {
        let missing = || Drift::NoVector(name.clone());
        let (dimension, distance, is_multi) = match kind {
            VectorKind::Dense { dimension, distance } => (dimension, distance, false),
            VectorKind::Multi { dimension, distance } => (dimension, distance, true),
            VectorKind::Sparse | VectorKind::Text(_) => {
                let found = sparse.get(name.as_str()).ok_or_else(missing)?;
                if found.modifier != Some(pb::Modifier::Idf.into()) {
                    return Err(Drift::Modifier(name.clone()));
                }
                continue;
            }
        };
        let found = dense.get(name.as_str()).ok_or_else(missing)?;
        if found.size != dimension as u64 {
            return Err(Drift::Dimension { vector: name.clone(), found: found.size, wanted: dimension });
        }
        if found.distance != i32::from(wire_distance(distance)) {
            return Err(Drift::Distance { vector: name.clone(), wanted: distance });
        }
        // There is one comparator.
        if found.multivector_config.is_some() != is_multi {
            return Err(Drift::Multivector(name.clone()));
        }
    }
    let is_in_schema = |there: &str, is_dense: bool| {
        let is_kind = |kind| is_dense == matches!(kind, VectorKind::Dense { .. } | VectorKind::Multi { .. });
        schema.vectors().any(|(name, kind)| name.as_str() == there && is_kind(kind))
    };
    let there = dense.keys().map(|name| (name, true)).chain(sparse.keys().map(|name| (name, false)));
    match there.into_iter().find(|(name, is_dense)| !is_in_schema(name, *is_dense)) {
        Some((more, _)) => Err(VectorName::parse(more).map_or(Drift::Unnamed, Drift::VectorMore)),
        None => Ok(()),
    }
}

fn strict_mode(strict: &pb::StrictModeConfig, seconds: u64) -> Result<(), Drift> {
    let too_few = |most: Option<u64>, needed: u64| most.is_some_and(|most| most < needed);
    let refused = [
        ("unindexed_filtering_retrieve", strict.unindexed_filtering_retrieve == Some(false)),
        ("unindexed_filtering_update", strict.unindexed_filtering_update == Some(false)),
        ("search_allow_exact", strict.search_allow_exact == Some(false)),
        ("max_query_limit", too_few(strict.max_query_limit.map(u64::from), VectorQuery::MAX_LIMIT as u64)),
        ("max_timeout", too_few(strict.max_timeout.map(u64::from), seconds)),
        ("upsert_max_batchsize", too_few(strict.upsert_max_batchsize, write::BATCH as u64)),
        ("condition_max_size", too_few(strict.condition_max_size, write::BATCH as u64)),
        ("filter_max_conditions", too_few(strict.filter_max_conditions, 8)),
    ];
    match refused.into_iter().find(|(_, is_refused)| *is_refused) {
        Some((setting, _)) => Err(Drift::StrictMode(setting)),
        None => Ok(()),
    }
}

fn indexes<'s>(schema: &'s Schema, there: &HashMap<String, pb::PayloadSchemaInfo>) -> Result<Missing<'s>, Drift> {
    let params = |info: &pb::PayloadSchemaInfo| info.params.as_ref().and_then(|params| params.index_params.clone());
    let tenant_index = match there.get(reserved::LIFE_PATH) {
        None => true,
        Some(found) => match params(found) {
            Some(IndexParams::KeywordIndexParams(keyword)) if keyword.is_tenant == Some(true) => false,
            _other => return Err(Drift::TenantIndex),
        },
    };
    let mut missing = Missing { tenant_index, indexes: Vec::new() };
    for (key, kind) in schema.indexes() {
        let Some(found) = there.get(key.as_str()) else {
            missing.indexes.push((key, kind));
            continue;
        };
        let fits = match kind {
            IndexKind::Keyword => found.data_type == i32::from(pb::PayloadSchemaType::Keyword),
            IndexKind::Integer => found.data_type == i32::from(pb::PayloadSchemaType::Integer),
            IndexKind::Float => found.data_type == i32::from(pb::PayloadSchemaType::Float),
            IndexKind::Flag => found.data_type == i32::from(pb::PayloadSchemaType::Bool),
            IndexKind::Datetime => found.data_type == i32::from(pb::PayloadSchemaType::Datetime),
            IndexKind::Geo => found.data_type == i32::from(pb::PayloadSchemaType::Geo),
            // Without places of words a phrase is not found.
            IndexKind::Words => matches!(
                params(found),
                Some(IndexParams::TextIndexParams(text)) if text.phrase_matching == Some(true)
            ),
        };
        if !fits {
            return Err(Drift::Index { key: key.clone(), wanted: kind });
        }
    }
    Ok(missing)
}
