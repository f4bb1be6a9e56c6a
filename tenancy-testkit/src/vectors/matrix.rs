//! Which points are near to each other.

use std::collections::{BTreeMap, BTreeSet};

use tenancy_vector::{ExternalId, Near, Schema, TenantVectors, VectorKind};

use super::random::Random;
use super::shown::near;
use super::stores::Stores;
use super::{Engine, data, filters};

/// The matrix of all points, and one of a few by chance, which must be a part of it.
pub(super) async fn matrix(stores: &Stores, schema: &Schema, random: &mut Random, at: &str) {
    let (using, kind) = data::any_vector(schema, random);
    let filter = random.percent(60).then(|| filters::filter(schema, random));
    let (sample, neighbours) = (1 + random.below(8), 1 + random.below(4));
    let at = format!("{at}: matrix of {using:?}, {filter:?}, {neighbours} neighbours in {sample}");
    let ask = async |store: &TenantVectors, sample, neighbours| {
        store
            .matrix(&using, filter.as_ref(), sample, neighbours)
            .await
            .unwrap_or_else(|error| panic!("{at}: {error:?}"))
    };
    let most = TenantVectors::MAX_SAMPLE;
    let (among, alone) = (scores(&ask(&stores.among, most, most).await), scores(&ask(&stores.alone, most, most).await));
    // A server adds up terms in any order.
    let to_the_bit = stores.engine == Engine::Composed || !data::is_weighed(kind);
    let same = |a: f32, b: f32| if to_the_bit { a.to_bits() == b.to_bits() } else { near(a, b) };
    assert!(among.keys().eq(alone.keys()), "{at}\namong {among:?}\nalone {alone:?}");
    assert!(among.values().zip(alone.values()).all(|(a, b)| same(*a, *b)), "{at}\namong {among:?}\nalone {alone:?}");
    let plain = scores(&ask(&stores.plain, most, most).await);
    assert!(among.keys().eq(plain.keys()), "{at}\namong {among:?}\nplain {plain:?}");
    assert!(among.values().zip(plain.values()).all(|(a, b)| near(*a, *b)), "{at}\namong {among:?}\nplain {plain:?}");

    let few = ask(&stores.among, sample, neighbours).await;
    for pair in &few {
        let whole = among.get(&(pair.one().clone(), pair.other().clone()));
        assert!(whole.is_some_and(|score| same(*score, pair.score())), "{at}: {pair:?}, but {whole:?}");
    }
    let points: BTreeSet<_> = few.iter().flat_map(|pair| [pair.one(), pair.other()]).collect();
    assert!(points.len() <= sample, "{at}: {few:?}");
    for rows in few.chunk_by(|a, b| a.one() == b.one()) {
        assert!(rows.len() <= neighbours && rows.is_sorted_by(|a, b| a.score() >= b.score()), "{at}: {rows:?}");
        // Points without a word in common have no score.
        let all_score = matches!(kind, VectorKind::Dense { .. } | VectorKind::Multi { .. });
        assert!(!all_score || rows.len() == neighbours.min(points.len() - 1), "{at}: {rows:?} of {points:?}");
    }
}

type Scores = BTreeMap<(ExternalId, ExternalId), f32>;

fn scores(pairs: &[Near]) -> Scores {
    pairs.iter().map(|pair| ((pair.one().clone(), pair.other().clone()), pair.score())).collect()
}
