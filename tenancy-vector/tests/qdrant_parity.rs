//! The tables of docs/qdrant-parity.md are those of the client: what it declares is named here in forms that do not
//! compile when one is missing, and the names are compared with the rows.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]
#![expect(deprecated, reason = "what is deprecated is there too")]

use std::collections::BTreeSet;

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::points_server::Points;
use tenancy_vector::{
    Area, Change, Decay, Expression, Filter, Fusion, Order, Point, Scroll, TenantVectors, Upload, VectorName,
    VectorQuery, VectorStore, Words,
};
use tonic::{Request, Response, Status};

/// A service of every point operation. The trait has no default bodies.
struct Every;

macro_rules! operations {
    ($($method:ident: $request:ident => $answer:ident;)*) => {
        #[tonic::async_trait]
        impl Points for Every {
            $(async fn $method(&self, _: Request<pb::$request>) -> Result<Response<pb::$answer>, Status> {
                Err(Status::unimplemented(stringify!($method)))
            })*
        }

        const OPERATIONS: &[&str] = &[$(stringify!($method)),*];
    };
}

/// Every field of messages: a pattern without `..` has all of them.
macro_rules! options {
    ($($name:literal: $message:path { $($field:ident),* };)*) => {
        fn options() -> Vec<String> {
            let names: &[(&str, &[&str])] = &[$({
                let _all = |message: $message| {
                    let $message { $($field: _),* } = message;
                };
                ($name, &[$(stringify!($field)),*])
            }),*];
            names.iter().flat_map(|(name, fields)| fields.iter().map(move |field| joined(name, ".", field))).collect()
        }
    };
}

/// Every variant of choices.
macro_rules! kinds {
    ($($name:literal: $choice:path { $($variant:ident),* };)*) => {
        fn kinds() -> Vec<String> {
            let names: &[(&str, &[&str])] = &[$({
                use $choice as Choice;
                let _all = |choice: Choice| match choice {
                    $(Choice::$variant(..) => {})*
                };
                ($name, &[$(stringify!($variant)),*])
            }),*];
            names.iter().flat_map(|(name, kinds)| kinds.iter().map(move |kind| joined(name, "::", kind))).collect()
        }
    };
}

/// What there is of ours, by type: variants, and methods.
macro_rules! ours {
    (variants { $($choice:ident { $($variant:ident),* })* } methods { $($type:ident { $($method:ident),* })* }) => {
        fn ours() -> BTreeSet<String> {
            $($(let _is = |value: &$choice| matches!(value, $choice::$variant { .. });)*)*
            $($(let _method = <$type>::$method;)*)*
            let variants = [$($(joined(stringify!($choice), "::", stringify!($variant))),*),*];
            let methods = [$($(joined(stringify!($type), "::", stringify!($method))),*),*];
            variants.into_iter().chain(methods).collect()
        }
    };
}

ours! {
    variants {
        Area { Box, Circle, Polygon }
        Change {
            Delete, DeletePayload, DeleteVectors, Insert, OverwritePayload, SetPayload, SetVectors, Update, Upsert
        }
        Decay { Exponential, Gauss, Linear }
        Expression { Absolute, Datetime, Distance, Negative, Number, Product, Quotient, Score, Sum, Value, When }
        Filter {
            All, Any, AnyOf, AtLeast, During, Equals, HasId, HasVector, Inside, IsEmpty, IsNull, Items, Nested, Not, Within
        }
        Fusion { Scores }
        Words { All, Any, Phrase }
    }
    methods {
        Fusion { ranks, weighted }
        Order { ascending, descending, starting_at }
        Scroll { limit, with_vectors }
        TenantVectors { count, delete, facet, get, matrix, query, query_batch, query_groups, scroll, upsert }
        VectorQuery { dense, exact, limit, ordered, sample, score_threshold, sparse, with_vectors }
        VectorStore { prepare }
    }
}

/// Those that take what implements a trait: to be called, not to be named.
fn ours_by_call() -> BTreeSet<String> {
    let (using, query) = (VectorName::dense, VectorQuery::sample());
    let _queries = || {
        let dense = tenancy_vector::DenseVector::new(vec![1.0]).unwrap();
        let example = || tenancy_vector::Example::Input(dense.clone().into());
        let _nearest = VectorQuery::nearest(using(), dense.clone());
        let _mmr = VectorQuery::mmr(using(), dense.clone(), 0.5);
        let _recommend = VectorQuery::recommend(using(), tenancy_vector::Recommend::Best, [example()], []);
        let _discover = VectorQuery::discover(using(), example(), []);
        let _context = VectorQuery::context(using(), [(example(), example())]);
        let _fuse = VectorQuery::fuse(Fusion::ranks(), [query.clone()]);
        let _rescore = VectorQuery::rescore(Expression::Score(0), [query.clone()]);
        let _refine = VectorQuery::refine(using(), dense.clone(), [query.clone()]);
    };
    let _upload = |vectors: TenantVectors, points: Vec<Point>| async move {
        vectors.upload(futures_util::stream::iter(points), Upload::new(), |_| ()).await
    };
    let of_queries = ["nearest", "mmr", "recommend", "discover", "context", "fuse", "rescore", "refine"];
    let of_queries = of_queries.map(|name| joined("VectorQuery", "::", name));
    of_queries.into_iter().chain([joined("TenantVectors", "::", "upload")]).collect()
}

fn joined(one: &str, with: &str, two: &str) -> String {
    format!("{one}{with}{}", two.trim_start_matches("r#"))
}

operations! {
    upsert: UpsertPoints => PointsOperationResponse;
    delete: DeletePoints => PointsOperationResponse;
    get: GetPoints => GetResponse;
    update_vectors: UpdatePointVectors => PointsOperationResponse;
    delete_vectors: DeletePointVectors => PointsOperationResponse;
    set_payload: SetPayloadPoints => PointsOperationResponse;
    overwrite_payload: SetPayloadPoints => PointsOperationResponse;
    delete_payload: DeletePayloadPoints => PointsOperationResponse;
    clear_payload: ClearPayloadPoints => PointsOperationResponse;
    create_field_index: CreateFieldIndexCollection => PointsOperationResponse;
    delete_field_index: DeleteFieldIndexCollection => PointsOperationResponse;
    create_vector_name: CreateVectorNameRequest => PointsOperationResponse;
    delete_vector_name: DeleteVectorNameRequest => PointsOperationResponse;
    search: SearchPoints => SearchResponse;
    search_batch: SearchBatchPoints => SearchBatchResponse;
    search_groups: SearchPointGroups => SearchGroupsResponse;
    scroll: ScrollPoints => ScrollResponse;
    recommend: RecommendPoints => RecommendResponse;
    recommend_batch: RecommendBatchPoints => RecommendBatchResponse;
    recommend_groups: RecommendPointGroups => RecommendGroupsResponse;
    discover: DiscoverPoints => DiscoverResponse;
    discover_batch: DiscoverBatchPoints => DiscoverBatchResponse;
    count: CountPoints => CountResponse;
    update_batch: UpdateBatchPoints => UpdateBatchResponse;
    query: QueryPoints => QueryResponse;
    query_batch: QueryBatchPoints => QueryBatchResponse;
    query_groups: QueryPointGroups => QueryGroupsResponse;
    facet: FacetCounts => FacetResponse;
    search_matrix_pairs: SearchMatrixPoints => SearchMatrixPairsResponse;
    search_matrix_offsets: SearchMatrixPoints => SearchMatrixOffsetsResponse;
}

options! {
    "QueryPoints": pb::QueryPoints {
        collection_name, prefetch, query, using, filter, params, score_threshold, limit, offset, with_vectors,
        with_payload, read_consistency, shard_key_selector, lookup_from, timeout
    };
    "QueryBatchPoints": pb::QueryBatchPoints { collection_name, query_points, read_consistency, timeout };
    "PrefetchQuery": pb::PrefetchQuery { prefetch, query, using, filter, params, score_threshold, limit, lookup_from };
    "SearchParams": pb::SearchParams { hnsw_ef, exact, quantization, indexed_only, acorn, idf };
    "FieldCondition": pb::FieldCondition {
        key, r#match, range, geo_bounding_box, geo_radius, values_count, geo_polygon, datetime_range, is_empty,
        is_null
    };
    "ScrollPoints": pb::ScrollPoints {
        collection_name, filter, offset, limit, with_payload, with_vectors, read_consistency, shard_key_selector,
        order_by, timeout
    };
    "CountPoints": pb::CountPoints { collection_name, filter, exact, read_consistency, shard_key_selector, timeout };
    "FacetCounts": pb::FacetCounts {
        collection_name, key, filter, limit, exact, timeout, read_consistency, shard_key_selector
    };
    "UpdateBatchPoints": pb::UpdateBatchPoints { collection_name, wait, operations, ordering, timeout };
    "PointStructList": pb::points_update_operation::PointStructList {
        points, shard_key_selector, update_filter, update_mode
    };
    "SetPayload": pb::points_update_operation::SetPayload { payload, points_selector, shard_key_selector, key };
    "OverwritePayload": pb::points_update_operation::OverwritePayload {
        payload, points_selector, shard_key_selector, key
    };
    "DeletePayload": pb::points_update_operation::DeletePayload { keys, points_selector, shard_key_selector };
    "UpdateVectors": pb::points_update_operation::UpdateVectors { points, shard_key_selector, update_filter };
    "DeleteVectors": pb::points_update_operation::DeleteVectors { points_selector, vectors, shard_key_selector };
    "DeletePoints": pb::points_update_operation::DeletePoints { points, shard_key_selector };
    "RecommendInput": pb::RecommendInput { positive, negative, strategy };
    "DiscoverInput": pb::DiscoverInput { target, context };
    "ContextInputPair": pb::ContextInputPair { positive, negative };
    "Mmr": pb::Mmr { diversity, candidates_limit };
    "Rrf": pb::Rrf { k, weights };
    "OrderBy": pb::OrderBy { key, direction, start_from };
    "Formula": pb::Formula { expression, defaults };
}

kinds! {
    "Query": pb::query::Variant {
        Nearest, Recommend, Discover, Context, OrderBy, Fusion, Sample, Formula, NearestWithMmr, Rrf,
        RelevanceFeedback, Text
    };
    "VectorInput": pb::vector_input::Variant { Id, Dense, Sparse, MultiDense, Document, Image, Object };
    "Condition": pb::condition::ConditionOneOf { Field, IsEmpty, HasId, Filter, IsNull, Nested, HasVector, Slice };
    "Match": pb::r#match::MatchValue {
        Keyword, Integer, Boolean, Text, Keywords, Integers, ExceptIntegers, ExceptKeywords, Phrase, TextAny, Prefix,
        Substring
    };
    "Expression": pb::expression::Variant {
        Constant, Variable, Condition, GeoDistance, Datetime, DatetimeKey, Mult, Sum, Div, Neg, Abs, Sqrt, Pow, Exp,
        Log10, Ln, ExpDecay, GaussDecay, LinDecay, Acosh, Max, Min
    };
    "Operation": pb::points_update_operation::Operation {
        Upsert, DeleteDeprecated, SetPayload, OverwritePayload, DeletePayload, ClearPayloadDeprecated, UpdateVectors,
        DeleteVectors, DeletePoints, ClearPayload
    };
}

/// The first cells of the rows of a table, which are code, with their second ones.
fn rows(section: &str) -> Vec<(String, String)> {
    let text = include_str!("../../docs/qdrant-parity.md");
    let start = text.find(&format!("## {section}\n")).unwrap() + 3;
    let section = text[start..].split("\n## ").next().unwrap();
    let row = |line: &str| {
        let (name, meaning) = line.strip_prefix("| `")?.split_once("` | ")?;
        Some((name.to_owned(), meaning.trim_end_matches(" |").to_owned()))
    };
    section.lines().filter_map(row).collect()
}

fn assert_listed(section: &str, declared: Vec<String>) {
    let rows = rows(section);
    let listed: BTreeSet<_> = rows.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(listed.len(), rows.len(), "a row twice");
    assert_eq!(listed, declared.into_iter().collect(), "{section}");
    for (name, meaning) in rows {
        assert!(meaning.len() > 5, "{name} has no equivalent and no reason");
    }
}

#[test]
fn every_point_operation_is_listed() {
    let _service: Box<dyn Points> = Box::new(Every);
    assert_eq!(OPERATIONS.len(), 30);
    assert_listed("Operations", OPERATIONS.iter().map(|name| (*name).to_owned()).collect());
}

#[test]
fn every_option_is_listed() {
    assert_listed("Options", options());
}

#[test]
fn every_kind_is_listed() {
    assert_listed("Kinds", kinds());
}

#[test]
fn what_the_tables_name_of_ours_is_there() {
    let all: Vec<_> = ["Operations", "Options", "Kinds"].into_iter().flat_map(rows).collect();
    let code = all.iter().flat_map(|(_, meaning)| meaning.split('`').skip(1).step_by(2));
    let named: BTreeSet<_> = code.clone().filter(|name| name.contains("::")).map(str::to_owned).collect();
    assert_eq!(named, &ours() | &ours_by_call());

    // A name without a type is the client's: an operation, a message, or a word of the wire.
    let messages: Vec<_> = options().iter().map(|name| name.split('.').next().unwrap_or_default().to_owned()).collect();
    let kinds: Vec<_> = kinds().iter().filter_map(|kind| Some(kind.split_once("::")?.1.to_owned())).collect();
    let wire = ["must", "with_lookup", "update_filter", "Completed", "All", "BestScore", "SumScores", "Dbsf", "Match"];
    let modes = ["InsertOnly", "UpdateOnly"];
    for name in code.filter(|name| !name.contains("::")) {
        let is_known = OPERATIONS.contains(&name)
            || wire.contains(&name)
            || modes.contains(&name)
            || [&messages, &kinds].iter().any(|names| names.iter().any(|known| known == name));
        assert!(is_known, "{name} is nothing of the client's: name the type that it belongs to");
    }
}
