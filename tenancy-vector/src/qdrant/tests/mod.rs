//! What is built to be sent: a walk over every kind of request asserts the scope at its root and at every leaf, and the
//! corpus at every node that scores a sparse vector.

mod drift;
mod forms;
mod samples;
mod walk;

use qdrant_client::qdrant as pb;

use super::layout::{CollectionName, Place, QdrantLayout};
use super::write;
use crate::request::{Position, ScrollRequest};
use samples::*;
use walk::Walk;

const LIFE: &str = "0193a4c0-0000-4000-8000-000000000001";

/// One place of each layout.
fn places() -> Vec<Place> {
    let name = || CollectionName::parse("docs").unwrap();
    let layouts = [
        QdrantLayout::Shared { collection: name() },
        QdrantLayout::Collections { prefix: name() },
        QdrantLayout::ShardKeys { collection: name() },
    ];
    layouts.iter().map(|layout| layout.place_of("partition", LIFE.to_owned())).collect()
}

fn walk<'a>(place: &'a Place, shown: &'a str) -> Walk<'a> {
    Walk {
        collection: place.collection.as_str(),
        shard_key: place.shard_key.as_deref(),
        life: place.life.as_str(),
        shown,
    }
}

#[test]
fn each_layout_has_a_place_of_its_own_for_a_life() {
    let places = places();
    let found: Vec<_> = places.iter().map(|place| (place.collection.as_str(), place.shard_key.as_deref())).collect();
    assert_eq!(found, [("docs", None), ("docs-partition", None), ("docs", Some("partition"))]);
}

#[test]
fn every_search_is_scoped_at_its_root_and_in_every_search_within_it() {
    for place in places() {
        for search in searches() {
            let shown = format!("{search:?}");
            let query = place.query(&query_request(search), 30).unwrap();
            walk(&place, &shown).query(&query);
        }
    }
}

#[test]
fn every_kind_of_search_is_walked() {
    let mut kinds: Vec<_> = searches().iter().map(kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), KINDS);
}

#[test]
fn every_read_is_scoped_and_exact() {
    for place in places() {
        for condition in conditions().into_iter().map(Some).chain([None]) {
            let shown = format!("{condition:?}");
            let scoped = walk(&place, &shown);
            for position in [Position::After(None), Position::After(Some(uuid::Uuid::from_u128(7))), ordered()] {
                let request = ScrollRequest { condition: condition.clone(), limit: 3, position, vectors: true };
                let scroll = place.scroll(&request, 30);
                scoped.root(&scroll.collection_name, scroll.filter.as_ref(), scroll.shard_key_selector.as_ref());
            }
            let count = place.count(&count_request(condition.clone()), 30);
            scoped.root(&count.collection_name, count.filter.as_ref(), count.shard_key_selector.as_ref());
            assert_eq!(count.exact, Some(true), "an estimate is made from all tenants' points");
            let facet = place.facet(&facet_request(condition), 30);
            scoped.root(&facet.collection_name, facet.filter.as_ref(), facet.shard_key_selector.as_ref());
            assert_eq!(facet.exact, Some(true), "a sample is taken from all tenants' points");
        }
    }
}

#[test]
fn every_write_is_scoped() {
    for place in places() {
        for write in writes() {
            let shown = format!("{write:?}");
            let operations: Vec<_> =
                write::split(write).into_iter().flat_map(|write| place.operations(&schema(), write)).collect();
            assert!(!operations.is_empty(), "{shown}");
            let scoped = walk(&place, &shown);
            operations.iter().for_each(|operation| scoped.operation(operation));
        }
        walk(&place, "a drop").operation(&place.delete_all());
    }
}

#[test]
fn what_is_sent_has_every_kind_of_operation_that_is_not_refused() {
    let place = &places()[0];
    let operations = writes().into_iter().flat_map(|write| place.operations(&schema(), write));
    let mut names: Vec<_> = operations.map(|operation| write::name(operation.operation.as_ref().unwrap())).collect();
    names.sort_unstable();
    names.dedup();
    let wanted = [
        "delete_payload",
        "delete_points",
        "delete_vectors",
        "overwrite_payload",
        "set_payload",
        "update_vectors",
        "upsert",
    ];
    assert_eq!(names, wanted);
}

#[test]
fn the_walk_sees_what_is_not_scoped() {
    let place = &places()[2];
    let whole = place.query(&query_request(nested_search()), 30).unwrap();
    let seen = |spoil: &dyn Fn(&mut pb::QueryPoints)| {
        let mut query = whole.clone();
        spoil(&mut query);
        std::panic::catch_unwind(|| walk(place, "spoilt").query(&query)).is_err()
    };
    assert!(!seen(&|_| {}), "as it is");
    assert!(seen(&|query| query.filter = None));
    assert!(seen(&|query| query.prefetch[0].filter = None));
    assert!(seen(&|query| query.prefetch[0].prefetch[0].filter = None));
    assert!(seen(&|query| query.params.as_mut().unwrap().idf = None), "a root that refines by terms");
    assert!(seen(&|query| query.prefetch[0].prefetch[0].params = None));
    assert!(seen(&|query| query.shard_key_selector = None));
    assert!(seen(&|query| query.shard_key_selector.as_mut().unwrap().fallback = place.key()));
    assert!(seen(&|query| {
        let filter = query.filter.as_mut().unwrap();
        filter.should = std::mem::take(&mut filter.must);
    }));
    assert!(seen(&|query| query.filter.as_mut().unwrap().must.truncate(0)));
    assert!(seen(&|query| query.filter.as_mut().unwrap().should = vec![pb::Condition::default()]));
    assert!(seen(&|query| query.lookup_from = Some(pb::LookupLocation::default())));
    assert!(seen(&|query| query.prefetch[0].lookup_from = Some(pb::LookupLocation::default())));
}
