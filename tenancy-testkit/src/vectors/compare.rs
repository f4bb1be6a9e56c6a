//! One question to all three, and how their answers must agree.

use std::collections::BTreeMap;
use std::fmt::Debug;

use tenancy_vector::{Hit, Schema, VectorError};

use super::queries::{self, Asked, Compared};
use super::random::Random;
use super::shown::{bits, ids, near, place, shown};
use super::stores::Stores;
use super::{Engine, matrix, reads};

/// Asks one question.
pub(super) async fn ask(stores: &Stores, schema: &Schema, random: &mut Random, at: &str) {
    match random.below(24) {
        0 | 1 => reads::count(stores, schema, random, at).await,
        2 => reads::facet(stores, schema, random, at).await,
        3 | 4 => reads::scroll(stores, schema, random, at).await,
        5 => reads::get(stores, random, at).await,
        6 => reads::groups(stores, schema, random, at).await,
        7 => matrix::matrix(stores, schema, random, at).await,
        8 | 9 => batch(stores, schema, random, at).await,
        _ => query(stores, queries::query(schema, random, stores.engine), at).await,
    }
}

async fn query(stores: &Stores, asked: Asked, at: &str) {
    let at = format!("{at}: {:?}", asked.query);
    let (among, alone) = (stores.among.query(&asked.query).await, stores.alone.query(&asked.query).await);
    let plain = stores.plain.query(&asked.query).await;
    // All that there is, to look up what is equal to what.
    let all = stores.plain.query(&asked.query.clone().limit(1000).unwrap()).await;
    if let Some(found) = answers([among, alone, plain, all], &at) {
        compare(&asked, stores.engine, found, &at);
    }
}

async fn batch(stores: &Stores, schema: &Schema, random: &mut Random, at: &str) {
    let asked = random.many(2, 5, |random| queries::query(schema, random, stores.engine));
    let queries: Vec<_> = asked.iter().map(|asked| asked.query.clone()).collect();
    let without_limits: Vec<_> = queries.iter().map(|query| query.clone().limit(1000).unwrap()).collect();
    let (among, alone) = (stores.among.query_batch(&queries).await, stores.alone.query_batch(&queries).await);
    let (plain, all) = (stores.plain.query_batch(&queries).await, stores.plain.query_batch(&without_limits).await);
    let Some(found) = answers([among, alone, plain, all], &format!("{at}: {queries:?}")) else { return };
    let [among, alone, plain, all] = found.map(Vec::into_iter);
    let found = among.zip(alone).zip(plain.zip(all)).map(|((among, alone), (plain, all))| [among, alone, plain, all]);
    let found: Vec<_> = found.collect();
    assert_eq!(found.len(), asked.len(), "{at}: a place for each of {queries:?}");
    for (place, (asked, found)) in asked.iter().zip(found).enumerate() {
        compare(asked, stores.engine, found, &format!("{at}: {place} of a batch: {:?}", asked.query));
    }
}

/// How the hits of three stores must agree, and those of the plain one without a limit.
fn compare(asked: &Asked, engine: Engine, [among, alone, plain, all]: [Vec<Hit>; 4], at: &str) {
    let differ = || format!("{at}, limit {}\namong {}\nplain {}", asked.limit, shown(&among), shown(&plain));
    match &asked.compared {
        Compared::Points => {
            assert_eq!((among.len(), alone.len()), (plain.len(), plain.len()), "{at}");
            let own = ids(&all);
            assert!(ids(&among).is_subset(&own) && ids(&alone).is_subset(&own), "{}", differ());
        }
        Compared::Scores => {
            let cut = Cut { limit: asked.limit, engine };
            if engine == Engine::Server && ["(sparse)", "(body)"].iter().any(|terms| at.contains(terms)) {
                let pairs = among.iter().zip(&alone);
                assert!(pairs.clone().all(|(one, two)| near(one.score(), two.score())), "{}", differ());
            } else {
                cut.assert_equal(&among, &alone, |hit| hit.score().to_bits(), at);
            }
            assert_eq!(among.len(), alone.len(), "{}", differ());
            assert_eq!(among.len(), plain.len(), "{}", differ());
            let scores: BTreeMap<_, _> = all.iter().map(|hit| (hit.id(), hit.score())).collect();
            for (hit, wanted) in among.iter().zip(&plain) {
                assert!(near(hit.score(), wanted.score()), "the scores in their order: {}", differ());
                let own = scores.get(hit.id()).copied();
                assert!(own.is_some_and(|own| near(own, hit.score())), "the score of a point: {}", differ());
            }
        }
        Compared::Values(order) => {
            let cut = Cut { limit: asked.limit, engine };
            cut.assert_equal(&among, &alone, |hit| place(order, hit.point()), at);
            let values = |hits: &[Hit]| hits.iter().map(|hit| place(order, hit.point())).collect::<Vec<_>>();
            assert_eq!(values(&among), values(&plain), "{}", differ());
            assert!(ids(&among).is_subset(&ids(&all)), "{}", differ());
            assert_eq!(ids(&among).len(), among.len(), "{}", differ());
        }
        Compared::Selection => {
            assert_eq!(bits(&among), bits(&alone), "{at}");
            assert!(among.iter().map(Hit::id).eq(plain.iter().map(Hit::id)), "{}", differ());
            assert!(among.iter().zip(&plain).all(|(a, b)| near(a.score(), b.score())), "{}", differ());
        }
    }
    let payloads: BTreeMap<_, _> = all.iter().map(|hit| (hit.id(), hit.payload())).collect();
    assert!(among.iter().all(|hit| payloads.get(hit.id()) == Some(&hit.payload())), "payloads: {}", differ());
}

/// Where a list ends.
struct Cut {
    limit: usize,
    engine: Engine,
}

impl Cut {
    /// To the bit; where ties are broken in any way, the places in their order, and the points in all but the last place,
    /// of which the limit may have left out some.
    fn assert_equal<K: PartialEq + Debug>(&self, among: &[Hit], alone: &[Hit], place: impl Fn(&Hit) -> K, at: &str) {
        if self.engine == Engine::Composed {
            assert_eq!(bits(among), bits(alone), "{at}");
            return;
        }
        let places = |hits: &[Hit]| hits.iter().map(&place).collect::<Vec<_>>();
        assert_eq!(places(among), places(alone), "{at}");
        let last = among.last().filter(|_| among.len() == self.limit).map(&place);
        let whole = |hits: &[Hit]| {
            let whole: Vec<_> = hits.iter().filter(|hit| Some(place(hit)) != last).cloned().collect();
            let mut whole = bits(&whole);
            whole.sort();
            whole
        };
        assert_eq!(whole(among), whole(alone), "{at}");
    }
}

/// The answers, or nothing where all of them are the same refusal.
pub(super) fn answers<T, const N: usize>(results: [Result<T, VectorError>; N], at: &str) -> Option<[T; N]> {
    let refusals: Vec<_> = results.iter().map(|result| result.as_ref().err().map(ToString::to_string)).collect();
    assert!(refusals.iter().all(|refusal| *refusal == refusals[0]), "{at}: {refusals:?}");
    let mut answers = Vec::new();
    for result in results {
        answers.push(match result {
            Ok(answer) => answer,
            // A point that is no example: it is not there, or has no such vector. One that has no place in an order.
            Err(VectorError::Denied(_) | VectorError::NoVector(_) | VectorError::NotOrdered) => return None,
            Err(error) => panic!("{at}: {error:?}"),
        });
    }
    answers.try_into().ok()
}
