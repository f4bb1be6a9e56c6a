//! Where a server leaks this one does too, or a test of isolation over it would prove nothing.

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::{Condition, Filter};
use tonic::Code;

use crate::{House, nearest, of, point, terms};

#[tokio::test]
async fn a_point_is_read_by_id_whoever_owns_it() {
    let mut house = House::with_collection().await;
    house.upsert(vec![point(1, "a", [1.0, 0.0], &[])], None).await;
    assert_eq!(house.text_of(1).await.as_deref(), Some("a-1"));
}

#[tokio::test]
async fn an_upsert_takes_the_place_of_anybody_s_point_unless_its_filter_says_no() {
    let mut house = House::with_collection().await;
    house.upsert(vec![point(1, "a", [1.0, 0.0], &[])], None).await;
    house.upsert(vec![point(1, "b", [0.0, 1.0], &[]), point(2, "b", [0.0, 1.0], &[])], Some(of("b"))).await;
    assert_eq!(house.text_of(1).await.as_deref(), Some("a-1"), "left alone, and nobody is told");
    assert_eq!(house.text_of(2).await.as_deref(), Some("b-2"), "new ones are inserted whatever the filter");
    house.upsert(vec![point(1, "b", [0.0, 1.0], &[])], None).await;
    assert_eq!(house.text_of(1).await.as_deref(), Some("b-1"));
}

#[tokio::test]
async fn the_update_mode_inserts_only_or_updates_only() {
    let mut house = House::with_collection().await;
    for (mode, texts) in [
        (pb::UpdateMode::UpdateOnly, [None, None]),
        (pb::UpdateMode::InsertOnly, [Some("a-1"), Some("a-2")]),
        (pb::UpdateMode::InsertOnly, [Some("a-1"), Some("a-2")]),
        (pb::UpdateMode::UpdateOnly, [Some("b-1"), Some("b-2")]),
    ] {
        let tenant = texts[0].filter(|text| text.starts_with('b')).map_or("a", |_| "b");
        let points = vec![point(1, tenant, [1.0, 0.0], &[]), point(2, tenant, [1.0, 0.0], &[])];
        let upsert = pb::UpsertPoints { points, update_mode: Some(mode.into()), ..crate::upsert() };
        house.points.upsert(upsert).await.unwrap();
        let found = [house.text_of(1).await, house.text_of(2).await];
        assert_eq!(found.each_ref().map(Option::as_deref), texts, "{mode:?}");
    }
}

#[tokio::test]
async fn the_filter_at_the_root_reaches_a_prefetch_and_lists_of_alternatives_run_together() {
    let mut house = House::with_collection().await;
    let mut foreign = point(2, "b", [1.0, 0.0], &[]);
    foreign.payload.insert("x".into(), 1.into());
    house.upsert(vec![point(1, "a", [0.5, 0.0], &[]), foreign, point(3, "b", [0.9, 0.0], &[])], None).await;
    let tenant = || Condition::matches("tenant", "a".to_owned());
    let x = || Some(Filter::should([Condition::matches("x", 1)]));
    for (root, inner, found) in [
        (Filter::must([tenant()]), None, vec![1]),
        (Filter::must([tenant()]), x(), vec![]),
        (Filter::should([tenant()]), None, vec![1]),
        // The engine makes one list of the two: the point of b that has x gets through (qdrant 10594).
        (Filter::should([tenant()]), x(), vec![2, 1]),
    ] {
        let arm = nearest([1.0, 0.0]);
        let prefetch = pb::PrefetchQuery { query: arm.query, using: arm.using, filter: inner, ..Default::default() };
        let fusion = pb::Query { variant: Some(pb::query::Variant::Fusion(pb::Fusion::Rrf.into())) };
        let query = pb::QueryPoints {
            prefetch: vec![prefetch],
            query: Some(fusion),
            filter: Some(root.clone()),
            collection_name: "c".into(),
            ..Default::default()
        };
        let answers = house.query(query).await;
        assert_eq!(answers.into_iter().map(|(id, _)| id).collect::<Vec<u64>>(), found, "{root:?}");
    }
}

#[tokio::test]
async fn what_selects_nothing_in_particular_selects_everything() {
    let mut house = House::with_collection().await;
    house.upsert(vec![point(1, "a", [1.0, 0.0], &[]), point(2, "b", [1.0, 0.0], &[])], None).await;
    let kindless = || Condition { condition_one_of: None };
    let empty = Filter::default();
    for everything in [empty, Filter::must([kindless()]), Filter::should([kindless()])] {
        assert_eq!(house.count(Some(everything)).await, 2);
    }
    let nothing = Filter::must([Condition::matches("tenant", Vec::<String>::new())]);
    assert_eq!(house.count(Some(nothing)).await, 0);
}

#[tokio::test]
async fn an_example_by_id_is_looked_up_whoever_owns_it_and_left_out() {
    let mut house = House::with_collection().await;
    let points = vec![point(1, "a", [0.5, 0.0], &[]), point(2, "b", [1.0, 0.0], &[]), point(3, "a", [0.2, 0.0], &[])];
    house.upsert(points, None).await;
    let like = |id: u64| {
        let recommend = pb::RecommendInput {
            positive: vec![pb::VectorInput { variant: Some(pb::vector_input::Variant::Id(id.into())) }],
            ..Default::default()
        };
        let query = pb::Query { variant: Some(pb::query::Variant::Recommend(recommend)) };
        pb::QueryPoints { query: Some(query), filter: Some(of("a")), ..nearest([0.0, 0.0]) }
    };
    assert_eq!(house.query(like(2)).await, [(1, 0.5), (3, 0.2)], "a foreign one is as good as one's own");
    assert_eq!(house.query(like(1)).await, [(3, 0.1)]);
    let unknown = house.points.query(like(9)).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound, "and one that exists differs from one that doesn't");
}

#[tokio::test]
async fn a_term_is_as_rare_as_in_the_corpus_that_the_request_names() {
    let mut house = House::with_collection().await;
    house.upsert(vec![point(1, "a", [0.0, 0.0], &[7]), point(2, "a", [0.0, 0.0], &[8])], None).await;
    let rarity = |n: f32, df: f32| ((n - df + 0.5) / (df + 0.5) + 1.).ln();
    let ask = |corpus| pb::QueryPoints { filter: Some(of("a")), ..terms(&[7], corpus) };
    let alone = [(1, rarity(2., 1.))];
    assert_eq!(house.query(ask(None)).await, alone);
    assert_eq!(house.query(ask(Some(of("a")))).await, alone);

    house.upsert((10..60).map(|id| point(id, "b", [0.0, 0.0], &[7])).collect(), None).await;
    assert_eq!(house.query(ask(Some(of("a")))).await, alone, "b's points don't count");
    assert_eq!(house.query(ask(None)).await, [(1, rarity(52., 51.))], "a forgotten corpus shows");
    assert_eq!(house.query(ask(Some(of("b")))).await, [(1, rarity(50., 50.))], "and a foreign one tells its counts");
}

#[tokio::test]
async fn a_node_that_scores_again_counts_over_its_own_corpus_alone() {
    let mut house = House::with_collection().await;
    house.upsert(vec![point(1, "a", [1.0, 0.0], &[7]), point(2, "a", [0.5, 0.0], &[8])], None).await;
    house.upsert((10..20).map(|id| point(id, "b", [0.0, 0.0], &[7])).collect(), None).await;
    let arm = terms(&[7], Some(of("a")));
    let prefetch = pb::PrefetchQuery { query: arm.query, using: arm.using, params: arm.params, ..Default::default() };
    let refine =
        |corpus| pb::QueryPoints { prefetch: vec![prefetch.clone()], filter: Some(of("a")), ..terms(&[7], corpus) };
    let with = house.query(refine(Some(of("a")))).await;
    let without = house.query(refine(None)).await;
    assert_eq!((with.len(), without.len()), (1, 1));
    assert!(with[0].1 > without[0].1, "the corpus of the prefetch is none for the root: {with:?} {without:?}");
}
