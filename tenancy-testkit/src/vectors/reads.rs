//! Questions that look for nothing: counts, values, pages, points by id, and groups.

use std::collections::BTreeSet;

use serde_json::Value;
use tenancy_vector::{
    ExternalId, Filter, FoundPoint, GroupBy, Hit, HitGroup, Schema, Scroll, TenantVectors, VectorError, VectorQuery,
};

use super::compare::answers;
use super::data::{self, INDEXES, key};
use super::random::Random;
use super::shown::{bits, place, point_bits, sorted};
use super::stores::Stores;
use super::{Engine, filters, queries};

pub(super) async fn count(stores: &Stores, schema: &Schema, random: &mut Random, at: &str) {
    let filter = random.percent(90).then(|| filters::filter(schema, random));
    let mut counts = Vec::new();
    for store in [&stores.among, &stores.alone, &stores.plain] {
        counts.push(store.count(filter.as_ref()).await.unwrap());
    }
    if counts.iter().any(|count| *count != counts[0]) {
        let blamed = blame(stores, filter.as_ref()).await;
        panic!("{at}: {filter:?}: {counts:?}\n{blamed}");
    }
}

pub(super) async fn facet(stores: &Stores, schema: &Schema, random: &mut Random, at: &str) {
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

pub(super) async fn scroll(stores: &Stores, schema: &Schema, random: &mut Random, at: &str) {
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
    let in_bits = |points: &[FoundPoint]| {
        let mut bits: Vec<_> = points.iter().map(point_bits).collect();
        if stores.engine == Engine::Server && order.is_some() {
            bits.sort();
        }
        bits
    };
    assert_eq!(in_bits(&among), in_bits(&alone), "{at}");
    let ids = |points: &[FoundPoint]| points.iter().map(|point| point.id().clone()).collect::<Vec<_>>();
    let (found, wanted) = (ids(&among), ids(&plain));
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

pub(super) async fn get(stores: &Stores, random: &mut Random, at: &str) {
    let ids = random.many(1, 8, data::id);
    let with_vectors = random.percent(70);
    let look_up = async |store: &TenantVectors| {
        if with_vectors { store.get_with_vectors(&ids).await } else { store.get(&ids).await }.unwrap()
    };
    let (among, alone, plain) =
        (look_up(&stores.among).await, look_up(&stores.alone).await, look_up(&stores.plain).await);
    for ((among, alone), plain) in among.iter().zip(&alone).zip(&plain) {
        assert_eq!(among.point().map(point_bits), alone.point().map(point_bits), "{at}");
        assert_eq!(among.point().map(FoundPoint::payload), plain.point().map(FoundPoint::payload), "{at}");
        let names = |point: &FoundPoint| point.vectors().keys().cloned().collect::<Vec<_>>();
        assert_eq!(among.point().map(names), plain.point().map(names), "{at}");
    }
}

pub(super) async fn groups(stores: &Stores, schema: &Schema, random: &mut Random, at: &str) {
    let using = data::name("dense");
    let input = data::input(schema.vector(&using).unwrap(), random);
    let mut query = VectorQuery::nearest(using, input);
    if random.percent(50) {
        query = query.filter(filters::filter(schema, random)).unwrap();
    }
    let (path, _) = random.pick(&INDEXES);
    let by = GroupBy::new(key(path), 1 + random.below(4), 1 + random.below(3)).unwrap();
    let among = stores.among.query_groups(&query, &by).await.unwrap();
    let alone = stores.alone.query_groups(&query, &by).await.unwrap();
    let plain = stores.plain.query_groups(&query, &by).await.unwrap();
    let with_bits = |groups: &[HitGroup]| {
        groups.iter().map(|group| (group.value().clone(), bits(group.hits()))).collect::<Vec<_>>()
    };
    assert_eq!(with_bits(&among), with_bits(&alone), "{at}");
    let with_ids = |groups: &[HitGroup]| {
        let ids = |hits: &[Hit]| hits.iter().map(|hit| hit.id().clone()).collect::<Vec<_>>();
        groups.iter().map(|group| (group.value().clone(), ids(group.hits()))).collect::<Vec<_>>()
    };
    assert_eq!(with_ids(&among), with_ids(&plain), "{at}: {path}");
}

/// Which conditions of a filter are met by other points in the two back ends.
async fn blame(stores: &Stores, filter: Option<&Filter>) -> String {
    let mut blamed = String::new();
    let mut left: Vec<_> = filter.cloned().into_iter().collect();
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
    page.iter()
        .map(|point| format!("{} {}", point.id().as_str(), sorted(&Value::Object(point.payload().clone()))))
        .collect()
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
