//! A collection that is not the one that is needed is not served from.

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::payload_index_params::IndexParams;
use qdrant_client::qdrant::vectors_config;

use super::samples::{key, schema};
use crate::qdrant::drift::compare;
use crate::qdrant::error::Drift;
use crate::qdrant::layout::{CollectionName, QdrantLayout};
use crate::qdrant::schema::{payload_index, tenant_index};
use crate::schema::{IndexKind, Schema};

/// What a server says of a collection that was made for the schema.
fn info(schema: &Schema) -> pb::CollectionInfo {
    let layout = QdrantLayout::Shared { collection: CollectionName::parse("docs").unwrap() };
    let made = layout.create("docs", schema);
    let indexes = schema.indexes().map(|(key, kind)| payload_index("docs", key.as_str(), kind));
    let payload_schema = indexes.chain([tenant_index("docs")]).map(|index| {
        let data_type = index.field_type.unwrap() + 1;
        (index.field_name, pb::PayloadSchemaInfo { data_type, params: index.field_index_params, points: None })
    });
    pb::CollectionInfo {
        config: Some(pb::CollectionConfig {
            params: Some(pb::CollectionParams {
                vectors_config: made.vectors_config,
                sparse_vectors_config: made.sparse_vectors_config,
                sharding_method: made.sharding_method,
                ..pb::CollectionParams::default()
            }),
            metadata: made.metadata,
            ..pb::CollectionConfig::default()
        }),
        payload_schema: payload_schema.collect(),
        ..pb::CollectionInfo::default()
    }
}

fn found(schema: &Schema, spoil: impl FnOnce(&mut pb::CollectionInfo)) -> Result<(bool, usize), Drift> {
    let mut info = info(schema);
    spoil(&mut info);
    compare(schema, pb::ShardingMethod::Auto, 30, &info).map(|missing| (missing.tenant_index, missing.indexes.len()))
}

fn params(info: &mut pb::CollectionInfo) -> &mut pb::CollectionParams {
    info.config.as_mut().unwrap().params.as_mut().unwrap()
}

fn dense(info: &mut pb::CollectionInfo, name: &str, spoil: impl FnOnce(&mut pb::VectorParams)) {
    match params(info).vectors_config.as_mut().unwrap().config.as_mut().unwrap() {
        vectors_config::Config::ParamsMap(map) => spoil(map.map.get_mut(name).unwrap()),
        vectors_config::Config::Params(_) => panic!("named vectors"),
    }
}

fn strict(spoil: impl FnOnce(&mut pb::StrictModeConfig)) -> Result<(bool, usize), Drift> {
    found(&schema(), |info| {
        let mut strict = pb::StrictModeConfig { enabled: Some(true), ..pb::StrictModeConfig::default() };
        spoil(&mut strict);
        info.config.as_mut().unwrap().strict_mode_config = Some(strict);
    })
}

#[test]
fn what_was_made_for_a_schema_fits_it() {
    let all = [
        IndexKind::Keyword,
        IndexKind::Integer,
        IndexKind::Float,
        IndexKind::Flag,
        IndexKind::Datetime,
        IndexKind::Geo,
        IndexKind::Words,
    ];
    let whole =
        all.into_iter().zip('a'..).fold(schema(), |schema, (kind, name)| schema.index(key(&name.to_string()), kind));
    assert_eq!(found(&whole, |_| {}), Ok((false, 0)));
    assert_eq!(found(&schema(), |info| info.payload_schema.clear()), Ok((true, 1)));
}

#[test]
fn vectors_that_are_others_are_refused() {
    let refused = |spoil: &dyn Fn(&mut pb::CollectionInfo)| found(&schema(), |info| spoil(info)).unwrap_err();
    let told = |spoil: &dyn Fn(&mut pb::CollectionInfo)| refused(spoil).to_string();
    let size = told(&|info| dense(info, "dense", |params| params.size = 3));
    assert_eq!(size, "the vector \"dense\" has 3 dimensions there and 2 in the schema");
    for name in ["dense", "multi"] {
        let distance = told(&|info| dense(info, name, |params| params.distance = 3 - params.distance));
        assert!(distance.starts_with(&format!("the vector {name:?} is not compared by ")), "{distance}");
    }
    let several = Some(pb::MultiVectorConfig::default());
    for (name, config) in [("multi", None), ("dense", several)] {
        let of_a_point = told(&|info| dense(info, name, |params| params.multivector_config = config));
        assert!(of_a_point.starts_with(&format!("the vector {name:?} is one of a point")), "{of_a_point}");
    }
    assert!(matches!(refused(&|info| params(info).vectors_config = None), Drift::NoVector(_)));
    let no_sparse = told(&|info| params(info).sparse_vectors_config = None);
    assert_eq!(no_sparse, "it has no vector \"sparse\" of the kind in the schema");
    let sparse = |info: &mut pb::CollectionInfo, modifier| {
        let map = &mut params(info).sparse_vectors_config.as_mut().unwrap().map;
        map.get_mut("sparse").unwrap().modifier = modifier;
    };
    for modifier in [None, Some(0)] {
        let weighed = refused(&|info| sparse(info, modifier));
        assert!(matches!(&weighed, Drift::Modifier(name) if name.as_str() == "sparse"), "{weighed:?}");
    }
    let more = refused(&|info| {
        let map = &mut params(info).sparse_vectors_config.as_mut().unwrap().map;
        map.insert("more".to_owned(), pb::SparseVectorParams::default());
    });
    assert_eq!(more.to_string(), "it has a vector \"more\" that is not in the schema");
    let twice = refused(&|info| {
        let map = &mut params(info).sparse_vectors_config.as_mut().unwrap().map;
        map.insert("dense".to_owned(), pb::SparseVectorParams::default());
    });
    assert!(matches!(&twice, Drift::VectorMore(name) if name.as_str() == "dense"), "{twice:?}");
    let unnamed = vectors_config::Config::Params(pb::VectorParams::default());
    let unnamed = Some(pb::VectorsConfig { config: Some(unnamed) });
    assert_eq!(refused(&|info| params(info).vectors_config = unnamed.clone()), Drift::Unnamed);
    assert_eq!(refused(&|info| params(info).sharding_method = Some(1)), Drift::Sharding);
    assert_eq!(refused(&|info| info.config = None), Drift::Unknown);
}

#[test]
fn a_tenant_index_that_is_none_is_refused() {
    let index = |params| {
        found(&schema(), |info| {
            let there = info.payload_schema.get_mut("tenancy.life").unwrap();
            there.params = params;
        })
    };
    let keyword = |is_tenant| {
        let keyword = pb::KeywordIndexParams { is_tenant, ..pb::KeywordIndexParams::default() };
        Some(pb::PayloadIndexParams { index_params: Some(IndexParams::KeywordIndexParams(keyword)) })
    };
    assert_eq!(index(keyword(Some(true))), Ok((false, 0)));
    for bad in [keyword(None), keyword(Some(false)), None] {
        assert_eq!(index(bad), Err(Drift::TenantIndex));
    }
    let uuid = IndexParams::UuidIndexParams(pb::UuidIndexParams { is_tenant: Some(true), ..Default::default() });
    assert_eq!(index(Some(pb::PayloadIndexParams { index_params: Some(uuid) })), Err(Drift::TenantIndex));
}

#[test]
fn an_index_of_another_kind_is_refused() {
    let wrong = |info: &mut pb::CollectionInfo| {
        info.payload_schema.get_mut("n").unwrap().data_type = pb::PayloadSchemaType::Keyword.into();
    };
    assert_eq!(found(&schema(), wrong), Err(Drift::Index { key: key("n"), wanted: IndexKind::Integer }));
}

#[test]
fn a_strict_mode_that_refuses_what_is_sent_is_refused_first() {
    assert_eq!(strict(|_| {}), Ok((false, 0)));
    assert_eq!(strict(|strict| strict.max_query_limit = Some(1000)), Ok((false, 0)));
    type Case = (&'static str, fn(&mut pb::StrictModeConfig));
    let cases: [Case; 8] = [
        ("unindexed_filtering_retrieve", |strict| strict.unindexed_filtering_retrieve = Some(false)),
        ("unindexed_filtering_update", |strict| strict.unindexed_filtering_update = Some(false)),
        ("search_allow_exact", |strict| strict.search_allow_exact = Some(false)),
        ("max_query_limit", |strict| strict.max_query_limit = Some(999)),
        ("max_timeout", |strict| strict.max_timeout = Some(29)),
        ("upsert_max_batchsize", |strict| strict.upsert_max_batchsize = Some(100)),
        ("condition_max_size", |strict| strict.condition_max_size = Some(100)),
        ("filter_max_conditions", |strict| strict.filter_max_conditions = Some(3)),
    ];
    for (setting, case) in cases {
        assert_eq!(strict(case), Err(Drift::StrictMode(setting)));
        let off = |strict: &mut pb::StrictModeConfig| {
            case(strict);
            strict.enabled = Some(false);
        };
        assert_eq!(strict(off), Ok((false, 0)), "it is not on");
    }
}

#[test]
fn a_collection_of_another_schema_is_refused() {
    let other = super::samples::schema().index(key("more"), IndexKind::Float);
    let layout = QdrantLayout::Shared { collection: CollectionName::parse("docs").unwrap() };
    let set = |metadata| found(&schema(), |info| info.config.as_mut().unwrap().metadata = metadata);
    assert_eq!(set(layout.create("docs", &other).metadata), Ok((false, 0)), "an index more");
    assert_eq!(set(layout.create("docs", &Schema::hybrid(2).unwrap()).metadata), Err(Drift::Schema));
}
