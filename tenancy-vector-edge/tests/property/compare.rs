//! One question to all three, and how their answers must agree.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tenancy_vector::{
    ExternalId, Filter, FoundPoint, GroupBy, Hit, Order, OrderFrom, PayloadKey, Schema, Scroll, TenantVectors, Vector,
    VectorError,
};

use crate::data::{self, INDEXES, key};
use crate::filters;
use crate::queries::{self, Asked, Compared};
use crate::random::Random;
use crate::stores::Stores;

/// Asks one question.
pub(crate) async fn ask(stores: &Stores, schema: &Schema, random: &mut Random, at: &str) {
    match random.below(20) {
        0 | 1 => count(stores, schema, random, at).await,
        2 => facet(stores, schema, random, at).await,
        3 => scroll(stores, schema, random, at).await,
        4 => get(stores, random, at).await,
        5 => groups(stores, schema, random, at).await,
        _ => query(stores, queries::query(schema, random), at).await,
    }
}

async fn query(stores: &Stores, asked: Asked, at: &str) {
    let Asked { query, limit, compared } = asked;
    let at = format!("{at}: {query:?}");
    let (among, alone) = (stores.among.query(&query).await, stores.alone.query(&query).await);
    // All that there is, to look up what is equal to what.
    let all = stores.plain.query(&query.clone().limit(1000).unwrap()).await;
    let plain = stores.plain.query(&query).await;
    let Some([among, alone, all, plain]) = answers([among, alone, all, plain], &at) else { return };
    match compared {
        Compared::Points => {
            assert_eq!((among.len(), alone.len()), (plain.len(), plain.len()), "{at}");
            let own = ids(&all);
            assert!(ids(&among).is_subset(&own) && ids(&alone).is_subset(&own), "{at}");
        }
        Compared::Scores => {
            assert_eq!(bits(&among), bits(&alone), "{at}");
            assert_eq!(among.len(), plain.len(), "{at}\n{}\n{}", shown(&among), shown(&plain));
            let scores: BTreeMap<_, _> = all.iter().map(|hit| (hit.id(), hit.score())).collect();
            for (hit, wanted) in among.iter().zip(&plain) {
                let differ = format!("{at}, limit {limit}\n{}\n{}", shown(&among), shown(&plain));
                assert!(near(hit.score(), wanted.score()), "the scores in their order: {differ}");
                let own = scores.get(hit.id()).copied();
                assert!(own.is_some_and(|own| near(own, hit.score())), "the score of a point: {differ}");
            }
        }
        Compared::Values(order) => {
            assert_eq!(bits(&among), bits(&alone), "{at}");
            let values = |hits: &[Hit]| hits.iter().map(|hit| place(&order, hit.point())).collect::<Vec<_>>();
            assert_eq!(values(&among), values(&plain), "{at}");
            assert!(ids(&among).is_subset(&ids(&all)), "{at}");
            assert_eq!(ids(&among).len(), among.len(), "{at}");
        }
        Compared::Selection => {
            assert_eq!(bits(&among), bits(&alone), "{at}");
            let differ = || format!("{at}\n{}\n{}", shown(&among), shown(&plain));
            assert!(among.iter().map(Hit::id).eq(plain.iter().map(Hit::id)), "{}", differ());
            assert!(among.iter().zip(&plain).all(|(a, b)| near(a.score(), b.score())), "{}", differ());
        }
    }
    let payloads: BTreeMap<_, _> = all.iter().map(|hit| (hit.id(), hit.payload())).collect();
    assert!(among.iter().all(|hit| payloads.get(hit.id()) == Some(&hit.payload())), "payloads: {at}");
}

/// The answers, or nothing where all of them are the same refusal.
fn answers<T, const N: usize>(results: [Result<T, VectorError>; N], at: &str) -> Option<[T; N]> {
    let refusals: Vec<_> = results.iter().map(|result| result.as_ref().err().map(ToString::to_string)).collect();
    assert!(refusals.iter().all(|refusal| *refusal == refusals[0]), "{at}: {refusals:?}");
    let mut answers = Vec::new();
    for result in results {
        answers.push(match result {
            Ok(answer) => answer,
            // A point that is no example: it is not there, or has no such vector. One that has no place in an order.
            Err(VectorError::Denied(_) | VectorError::NoVector | VectorError::NotOrdered) => return None,
            Err(error) => panic!("{at}: {error:?}"),
        });
    }
    answers.try_into().ok()
}

async fn count(stores: &Stores, schema: &Schema, random: &mut Random, at: &str) {
    let filter = filters::filter(schema, random);
    let mut counts = Vec::new();
    for store in [&stores.among, &stores.alone, &stores.plain] {
        counts.push(store.count(Some(&filter)).await.unwrap());
    }
    if counts[0] != counts[2] {
        let blamed = blame(stores, &filter).await;
        panic!("{at}: {filter:?}: {counts:?}\n{blamed}");
    }
    assert!(counts.iter().all(|count| *count == counts[0]), "{at}: {filter:?}: {counts:?}");
}

async fn facet(stores: &Stores, schema: &Schema, random: &mut Random, at: &str) {
    let filter = random.percent(60).then(|| filters::filter(schema, random));
    let limit = *random.pick(&[1, 3, 100]);
    for path in ["tag", "n", "flag", "deep.n"] {
        let path = key(path);
        if schema.index_of(&path).is_none() {
            continue;
        }
        let among = stores.among.facet(&path, filter.as_ref(), limit).await.unwrap();
        let alone = stores.alone.facet(&path, filter.as_ref(), limit).await.unwrap();
        let plain = stores.plain.facet(&path, filter.as_ref(), limit).await.unwrap();
        assert_eq!(among, alone, "{at}: {path:?} {filter:?}");
        assert_eq!(among, plain, "{at}: {path:?} {filter:?}");
    }
}

async fn scroll(stores: &Stores, schema: &Schema, random: &mut Random, at: &str) {
    let mut scroll = Scroll::new().limit(*random.pick(&[1, 3, 10, 100])).unwrap().with_vectors();
    if random.percent(60) {
        scroll = scroll.filter(filters::filter(schema, random));
    }
    let order = queries::order(schema, random).filter(|_| random.percent(50));
    if let Some(order) = &order {
        scroll = scroll.order(order.clone());
    }
    let mut all = Vec::new();
    for store in [&stores.among, &stores.alone, &stores.plain] {
        all.push(pages(store, &scroll, at).await);
    }
    let at = format!("{at}: {scroll:?}");
    let Some([among, alone, plain]) = answers(<[_; 3]>::try_from(all).unwrap(), &at) else { return };
    assert_eq!(points_bits(&among), points_bits(&alone), "{at}");
    let (found, wanted) = (point_ids(&among), point_ids(&plain));
    match order {
        None => assert_eq!(found, wanted, "{at}"),
        Some(order) => {
            let values = |points: &[FoundPoint]| points.iter().map(|point| place(&order, point)).collect::<Vec<_>>();
            assert_eq!(values(&among), values(&plain), "{at}");
            let sorted = |mut ids: Vec<ExternalId>| {
                ids.sort();
                ids
            };
            assert_eq!(sorted(found), sorted(wanted), "{at}");
        }
    }
}

async fn pages(store: &TenantVectors, scroll: &Scroll, at: &str) -> Result<Vec<FoundPoint>, VectorError> {
    let (mut points, mut from) = (Vec::new(), None);
    loop {
        let page = store.scroll(scroll, from.as_ref()).await?;
        from = page.next().cloned();
        points.extend(page.into_points());
        if from.is_none() {
            return Ok(points);
        }
        assert!(points.len() <= 2 * data::POPULATION, "a scroll ends: {at}");
    }
}

async fn get(stores: &Stores, random: &mut Random, at: &str) {
    let ids = random.many(1, 8, data::id);
    let among = stores.among.get_with_vectors(&ids).await.unwrap();
    let alone = stores.alone.get_with_vectors(&ids).await.unwrap();
    let plain = stores.plain.get_with_vectors(&ids).await.unwrap();
    for ((among, alone), plain) in among.iter().zip(&alone).zip(&plain) {
        assert_eq!(among.point().map(point_bits), alone.point().map(point_bits), "{at}");
        assert_eq!(among.point().map(FoundPoint::payload), plain.point().map(FoundPoint::payload), "{at}");
        let names = |point: &FoundPoint| point.vectors().keys().cloned().collect::<Vec<_>>();
        assert_eq!(among.point().map(names), plain.point().map(names), "{at}");
    }
}

async fn groups(stores: &Stores, schema: &Schema, random: &mut Random, at: &str) {
    let using = data::name("dense");
    let input = data::input(schema.vector(&using).unwrap(), random);
    let mut query = tenancy_vector::VectorQuery::nearest(using, input);
    if random.percent(50) {
        query = query.filter(filters::filter(schema, random)).unwrap();
    }
    let (path, _) = random.pick(&INDEXES);
    let by = GroupBy::new(key(path), 1 + random.below(4), 1 + random.below(3)).unwrap();
    let among = stores.among.query_groups(&query, &by).await.unwrap();
    let alone = stores.alone.query_groups(&query, &by).await.unwrap();
    let plain = stores.plain.query_groups(&query, &by).await.unwrap();
    let with_bits = |groups: &[tenancy_vector::HitGroup]| {
        groups.iter().map(|group| (group.value().clone(), bits(group.hits()))).collect::<Vec<_>>()
    };
    assert_eq!(with_bits(&among), with_bits(&alone), "{at}");
    let with_ids = |groups: &[tenancy_vector::HitGroup]| {
        let ids = |hits: &[Hit]| hits.iter().map(|hit| hit.id().clone()).collect::<Vec<_>>();
        groups.iter().map(|group| (group.value().clone(), ids(group.hits()))).collect::<Vec<_>>()
    };
    assert_eq!(with_ids(&among), with_ids(&plain), "{at}: {path}");
}

fn near(one: f32, two: f32) -> bool {
    (one - two).abs() <= 1e-4 * one.abs().max(1.0)
}

fn ids(hits: &[Hit]) -> BTreeSet<ExternalId> {
    hits.iter().map(|hit| hit.id().clone()).collect()
}

fn point_ids(points: &[FoundPoint]) -> Vec<ExternalId> {
    points.iter().map(|point| point.id().clone()).collect()
}

/// Everything about hits, to the bit.
fn bits(hits: &[Hit]) -> Vec<(u32, String)> {
    hits.iter().map(|hit| (hit.score().to_bits(), point_bits(hit.point()))).collect()
}

fn points_bits(points: &[FoundPoint]) -> Vec<String> {
    points.iter().map(point_bits).collect()
}

fn point_bits(point: &FoundPoint) -> String {
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let vectors = point.vectors().iter().map(|(name, vector)| match vector {
        Vector::Dense(dense) => format!("{name:?} {:?}", bits(dense.values())),
        Vector::Sparse(sparse) => format!("{name:?} {:?} {:?}", sparse.indices(), bits(sparse.values())),
        Vector::Multi(multi) => format!("{name:?} {:?}", multi.rows().iter().map(|row| bits(row)).collect::<Vec<_>>()),
    });
    let vectors: Vec<_> = vectors.collect();
    format!("{} {} {vectors:?}", point.id().as_str(), Value::Object(point.payload().clone()))
}

fn shown(hits: &[Hit]) -> String {
    hits.iter().map(|hit| format!("{} {}", hit.id().as_str(), hit.score())).collect::<Vec<_>>().join(", ")
}

/// Where a point stands in an order: at the first of its values.
fn place(order: &Order, point: &FoundPoint) -> Option<i64> {
    let sign = if order.is_descending() { -1.0 } else { 1.0 };
    let from = order.from().map_or(f64::NEG_INFINITY, |from| match from {
        OrderFrom::Integer(number) => sign * f64::from(i32::try_from(number).unwrap()),
        OrderFrom::Float(number) => sign * number,
        OrderFrom::Datetime(_) => f64::NEG_INFINITY,
    });
    let values = numbers(order.key(), point).into_iter().map(|value| sign * value).filter(|value| *value >= from);
    let first = values.min_by(f64::total_cmp)?;
    // In steps of which every value is a multiple.
    #[expect(clippy::cast_possible_truncation, reason = "values are small")]
    let place = (first * 32_768.0).round() as i64;
    Some(place)
}

fn numbers(path: &PayloadKey, point: &FoundPoint) -> Vec<f64> {
    let mut steps = path.as_str().split('.');
    let first = steps.next().and_then(|step| point.payload().get(step));
    match steps.fold(first, |at, step| at.and_then(|value| value.get(step))) {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_f64).collect(),
        Some(value) => value.as_f64().into_iter().collect(),
        None => Vec::new(),
    }
}

/// Which conditions of a filter are met by other points in the two back ends.
async fn blame(stores: &Stores, filter: &Filter) -> String {
    let mut blamed = String::new();
    let mut left = vec![filter.clone()];
    while let Some(filter) = left.pop() {
        let (among, plain) = (meeting(&stores.among, &filter).await, meeting(&stores.plain, &filter).await);
        if among == plain {
            continue;
        }
        let inner = match filter.clone() {
            Filter::All(inner) | Filter::Any(inner) | Filter::AtLeast(_, inner) => inner,
            Filter::Not(inner) => vec![*inner],
            _leaf => Vec::new(),
        };
        let (more, less): (Vec<_>, Vec<_>) =
            (among.difference(&plain).take(2).collect(), plain.difference(&among).take(2).collect());
        blamed += &format!("{filter:?} {:?} more: {more:?} less: {less:?}\n", key_of(&filter));
        left.extend(inner);
    }
    blamed
}

async fn meeting(store: &TenantVectors, filter: &Filter) -> BTreeSet<String> {
    let scroll = Scroll::new().filter(filter.clone()).limit(1000).unwrap();
    let page = store.scroll(&scroll, None).await.unwrap().into_points();
    page.iter().map(|point| format!("{} {}", point.id().as_str(), Value::Object(point.payload().clone()))).collect()
}

fn key_of(filter: &Filter) -> Option<&str> {
    match filter {
        Filter::Equals(key, _)
        | Filter::AnyOf(key, _)
        | Filter::Within(key, _)
        | Filter::During(key, _)
        | Filter::Words(key, _)
        | Filter::Inside(key, _)
        | Filter::Items(key, _)
        | Filter::IsEmpty(key)
        | Filter::IsNull(key)
        | Filter::Nested(key, _) => Some(key.as_str()),
        Filter::HasId(_)
        | Filter::HasVector(_)
        | Filter::All(_)
        | Filter::Any(_)
        | Filter::AtLeast(..)
        | Filter::Not(_) => None,
    }
}
