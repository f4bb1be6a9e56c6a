//! What requests look like beyond their scope.

use pb::condition::ConditionOneOf;
use pb::points_update_operation::Operation;
use pb::query::Variant;
use qdrant_client::qdrant as pb;
use serde_json::{Map, json};

use super::samples::*;
use super::walk::has_digests;
use super::{LIFE, places};
use crate::filter::{Filter, Place};
use crate::qdrant::error::QdrantError;
use crate::qdrant::filter::{lower, timestamp};
use crate::qdrant::layout::CollectionName;
use crate::qdrant::write::{BATCH, may_repeat, split};
use crate::query::Fusion;
use crate::request::{Expression, Find, Position, ScrollRequest, Selector, UpsertMode, Write};
use crate::vector::{DenseVector, MultiVector, SparseVector, Vector};

#[test]
fn an_id_is_compared_with_its_digest() {
    let condition = lower(&Filter::HasId(vec![point_key(1), point_key(2)]));
    assert!(has_digests(&condition), "an engine id is half a key: {condition:?}");
}

#[test]
fn what_narrows_a_search_narrows_those_within_it() {
    let outer = Filter::IsEmpty(key("outer"));
    let inner = Filter::IsEmpty(key("inner"));
    let mut arm = search(Find::Nearest { using: name("dense"), vector: dense() });
    arm.condition = Some(inner.clone());
    let mut middle = search(Find::Fuse { fusion: Fusion::ranks(), arms: vec![arm] });
    middle.condition = Some(outer.clone());
    let root = search(Find::Refine { using: name("multi"), vector: multi(), arms: vec![middle] });
    let query = places()[0].query(&query_request(root), 1).unwrap();
    let beside = |filter: &Option<pb::Filter>| match filter.as_ref().unwrap().must.get(1).map(|c| &c.condition_one_of) {
        Some(Some(ConditionOneOf::Filter(filter))) => filter.must.clone(),
        _none => Vec::new(),
    };
    assert_eq!(beside(&query.filter), []);
    assert_eq!(beside(&query.prefetch[0].filter), [lower(&outer)]);
    assert_eq!(beside(&query.prefetch[0].prefetch[0].filter), [lower(&outer), lower(&inner)]);
}

#[test]
fn ranks_count_from_one_on_both_sides() {
    let arms = || vec![search(Find::Sample), search(Find::Sample)];
    for (fusion, wanted) in [
        (Fusion::ranks(), Variant::Rrf(pb::Rrf { k: Some(61), weights: vec![] })),
        (Fusion::weighted(vec![1.0, 2.5]).unwrap(), Variant::Rrf(pb::Rrf { k: Some(61), weights: vec![1.0, 2.5] })),
        (Fusion::Scores, Variant::Fusion(pb::Fusion::Dbsf.into())),
    ] {
        let query = places()[0].query(&query_request(search(Find::Fuse { fusion, arms: arms() })), 1).unwrap();
        assert_eq!(query.query.unwrap().variant, Some(wanted));
    }
}

#[test]
fn a_point_loses_the_vectors_it_does_not_bring() {
    let place = &places()[0];
    let points = || vec![tagged(1, &[("dense", dense())]), tagged(2, &[("dense", dense()), ("sparse", sparse())])];
    let operations = |mode| -> Vec<_> {
        let write = Write::Upsert { points: points(), mode };
        place.operations(&schema(), write).into_iter().map(|operation| operation.operation.unwrap()).collect()
    };
    let deleted = |operations: &[Operation]| -> Vec<Vec<String>> {
        let vectors = operations.iter().filter_map(|operation| match operation {
            Operation::DeleteVectors(delete) => Some(delete.vectors.clone().unwrap().names),
            _other => None,
        });
        vectors.collect()
    };
    let replace = operations(UpsertMode::Replace);
    assert_eq!(deleted(&replace), [vec!["multi".to_owned()], vec!["multi".to_owned(), "sparse".to_owned()]]);
    assert!(
        matches!(replace.last(), Some(Operation::Upsert(_))),
        "before the points: else a new one is found by the old"
    );
    assert_eq!(deleted(&operations(UpsertMode::Update(None))).len(), 2);
    assert_eq!(deleted(&operations(UpsertMode::Insert)).len(), 0, "those that are there stay as they are");
}

#[test]
fn the_mode_of_an_upsert_is_said() {
    let mode = |mode| match places()[0]
        .operations(&schema(), Write::Upsert { points: vec![tagged(1, &[("dense", dense())])], mode })
        .pop()
        .and_then(|operation| operation.operation)
    {
        Some(Operation::Upsert(list)) => list.update_mode,
        _other => None,
    };
    assert_eq!(mode(UpsertMode::Replace), Some(pb::UpdateMode::Upsert.into()));
    assert_eq!(mode(UpsertMode::Insert), Some(pb::UpdateMode::InsertOnly.into()));
    assert_eq!(mode(UpsertMode::Update(None)), Some(pb::UpdateMode::UpdateOnly.into()));
}

#[test]
fn only_what_does_not_depend_on_what_was_there_is_sent_twice() {
    for write in writes() {
        let wanted = match &write {
            Write::Upsert { mode, .. } => matches!(mode, UpsertMode::Replace),
            Write::SetVectors(_) | Write::OverwritePayload(..) => true,
            Write::DeleteVectors(selector, _)
            | Write::SetPayload(selector, ..)
            | Write::DeletePayload(selector, _)
            | Write::Delete(selector) => matches!(selector, Selector::Keys(_)),
        };
        assert_eq!(may_repeat(&write), wanted, "{write:?}");
    }
}

#[test]
fn large_writes_become_several_and_nothing_is_lost() {
    let points: Vec<_> = (0..BATCH + 1).map(|_| tagged(1, &[("dense", dense())])).collect();
    let count = |writes: &[Write]| -> Vec<usize> {
        let sizes = writes.iter().map(|write| match write {
            Write::Upsert { points, .. } => points.len(),
            Write::Delete(Selector::Keys(keys)) => keys.len(),
            other => panic!("{other:?}"),
        });
        sizes.collect()
    };
    assert_eq!(count(&split(Write::Upsert { points, mode: UpsertMode::Insert })), [BATCH, 1]);
    let keys = vec![point_key(1); 2 * BATCH + 3];
    assert_eq!(count(&split(Write::Delete(Selector::Keys(keys)))), [BATCH, BATCH, 3]);
    let heavy: Vec<_> = (0..5)
        .map(|_| {
            let mut point = tagged(1, &[("dense", dense())]);
            point.payload.insert("text".into(), "x".repeat(7 * 1024 * 1024).into());
            point
        })
        .collect();
    assert_eq!(count(&split(Write::Upsert { points: heavy, mode: UpsertMode::Replace })), [2, 2, 1]);
}

/// A server takes 32 MiB a request; half of it is what points are taken to weigh.
#[test]
fn points_are_weighed_by_their_vectors_and_payloads() {
    let mib = 1 << 20;
    let names: Vec<_> = (0..1000).map(|n| format!("v{n}")).collect();
    let one: Vector = DenseVector::new(vec![1.0]).unwrap().into();
    let small = || names.iter().map(|name| (name.as_str(), one.clone())).collect();
    let keys: Map<_, _> = (0..1000).map(|n| (format!("{n:04}"), json!(n))).collect();
    let long = || "x".repeat(mib);
    let dense = || DenseVector::new(vec![1.0; 65_536]).unwrap().into();
    let terms = || SparseVector::new((0..65_536).collect(), vec![1.0; 65_536]).unwrap().into();
    let rows = || MultiVector::new(vec![vec![1.0; 256]; 256]).unwrap().into();
    for (what, vectors, payload, fit) in [
        ("numbers, five bytes each", vec![("dense", dense())], json!({}), 51),
        ("terms, two numbers each", vec![("sparse", terms())], json!({}), 25),
        ("rows of numbers", vec![("multi", rows())], json!({}), 51),
        ("two vectors", vec![("dense", dense()), ("multi", rows())], json!({}), 25),
        ("a text", vec![], json!({ "a": long() }), 15),
        ("a key", vec![], json!({ long(): null }), 15),
        ("a key within", vec![], json!({ "a": { long(): 1 } }), 15),
        ("a list of texts", vec![], json!({ "a": [long(), long()] }), 7),
        ("two keys", vec![], json!({ "a": long(), "b": long() }), 7),
        ("small values, sixteen bytes each", vec![], json!({ "a": vec![json!(null); 65_536] }), 15),
        ("a thousand vectors of one number, 69 bytes each", small(), json!({}), 243),
        ("a thousand keys with a number, 36 bytes each", vec![], keys.into(), 466),
        ("empty lists, sixteen bytes each", vec![], json!({ "a": vec![json!([]); 3000] }), 349),
        ("empty objects, sixteen bytes each", vec![], json!({ "a": vec![json!({}); 3000] }), 349),
        ("a vector and a text", vec![("dense", dense())], json!({ "a": "x".repeat(13 * mib / 16) }), 14),
    ] {
        let mut point = tagged(1, &vectors);
        point.payload = payload.as_object().unwrap().clone();
        let points = vec![point; fit + 1];
        let parts = split(Write::Upsert { points, mode: UpsertMode::Replace });
        let sizes = parts.iter().map(|part| match part {
            Write::Upsert { points, .. } => points.len(),
            other => panic!("{other:?}"),
        });
        assert_eq!(sizes.collect::<Vec<_>>(), [fit, 1], "{what}");
    }
}

/// A key that is empty somewhere is 0 there, as a number or as a time: not as both.
#[test]
fn a_key_of_a_formula_is_of_one_kind() {
    let value = || Expression::Value(key("n"), 0.5);
    let time = || Expression::Datetime(key("n"), 0.5);
    let place = |lon| Expression::Distance(Place::new(lon, 2.0).unwrap(), key("n"), 0.5);
    for (what, parts, fits) in [
        ("a number twice", vec![value(), value()], true),
        ("a time twice", vec![time(), time()], true),
        ("a distance twice", vec![place(1.0), place(1.0)], true),
        ("a number and a time", vec![value(), time()], false),
        ("a time and a number", vec![time(), value()], false),
        ("a number and a distance", vec![value(), place(1.0)], false),
        ("distances from two places", vec![place(1.0), place(3.0)], false),
    ] {
        let find = Find::Rescore { score: Expression::Sum(parts), arms: vec![search(Find::Sample)] };
        let query = places()[0].query(&query_request(search(find)), 1);
        assert_eq!(query.is_ok(), fits, "{what}");
        assert!(fits || matches!(query, Err(QdrantError::NoForm)), "{what}: {query:?}");
    }
}

/// With a partition's name behind it, it is well within what a server takes.
#[test]
fn the_name_of_a_collection_has_128_bytes_at_most() {
    for (name, fits) in [
        ("a".repeat(128), true),
        ("a".repeat(129), false),
        ("a".to_owned(), true),
        (String::new(), false),
        ("Docs_2-b".to_owned(), true),
        ("docs/other".to_owned(), false),
        ("docs other".to_owned(), false),
        ("d\u{f6}cs".to_owned(), false),
    ] {
        assert_eq!(CollectionName::parse(&name).is_ok(), fits, "{name}");
    }
}

#[test]
fn every_variable_of_a_formula_has_a_default() {
    let find = Find::Rescore { score: expression(), arms: vec![search(Find::Sample)] };
    let query = places()[0].query(&query_request(search(find)), 1).unwrap();
    let Some(Variant::Formula(formula)) = query.query.unwrap().variant else { panic!("no formula") };
    let mut defaults: Vec<_> = formula.defaults.keys().map(String::as_str).collect();
    defaults.sort_unstable();
    assert_eq!(defaults, ["g", "n", "t"]);
}

#[test]
fn a_page_begins_behind_the_last_point() {
    let after = |id| {
        let position = Position::After(id);
        let request = ScrollRequest { condition: None, limit: 1, position, vectors: false };
        places()[0].scroll(&request, 1).offset
    };
    let id = uuid::Uuid::from_u128(0xff);
    assert_eq!(after(None), None);
    assert_eq!(after(Some(id)), Some("00000000-0000-0000-0000-000000000100".into()));
}

#[test]
fn points_in_time_have_their_nanoseconds_behind_them() {
    use std::time::{Duration, UNIX_EPOCH};
    let of = |time| {
        let pb::Timestamp { seconds, nanos } = timestamp(time);
        (seconds, nanos)
    };
    assert_eq!(of(UNIX_EPOCH + Duration::new(5, 7)), (5, 7));
    assert_eq!(of(UNIX_EPOCH - Duration::new(5, 7)), (-6, 999_999_993));
    assert_eq!(of(UNIX_EPOCH - Duration::from_secs(5)), (-5, 0));
}

#[test]
fn a_life_is_written_in_one_way() {
    let filter = places()[0].filter(&[]);
    assert_eq!(filter.must, [pb::Condition::matches("tenancy.life", LIFE.to_owned())]);
}
