//! Searches, by looking at every point that is handed in.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::compare::{Comparison, Rarity};
use super::judge::meets;
use crate::id::PointKey;
use crate::name::VectorName;
use crate::query::{fuse, in_order};
use crate::request::{Find, Order, OrderFrom, Search, Strategy, TaggedPoint};
use crate::reserved;
use crate::schema::{Schema, VectorKind};

type Scored<'p> = Vec<(&'p TaggedPoint, f32)>;

/// What is known of all points of a life, beside those that are searched.
pub(crate) struct Corpus<'a> {
    pub(crate) schema: &'a Schema,
    /// By the names of sparse vectors; one that misses has no terms.
    pub(crate) rarities: HashMap<VectorName, Rarity>,
}

impl<'a> Corpus<'a> {
    /// Of all points of the life.
    pub(crate) fn of(schema: &'a Schema, own: &[&TaggedPoint]) -> Self {
        let sparse = |kind| matches!(kind, VectorKind::Sparse | VectorKind::Text(_));
        let names = schema.vectors().filter(|(_, kind)| sparse(*kind)).map(|(name, _)| name);
        Self { schema, rarities: names.map(|name| (name.clone(), Rarity::of(name, own))).collect() }
    }

    fn compare<'c>(&'c self, using: &'c VectorName) -> Comparison<'c> {
        static NONE: LazyLock<Rarity> = LazyLock::new(Rarity::default);
        Comparison::of(self.schema, using, self.rarities.get(using).unwrap_or(&NONE))
    }
}

/// The points that a search finds among these, the best first. One within another finds those `among` which the other
/// would.
pub(crate) fn search<'p>(corpus: &Corpus<'_>, among: &[&'p TaggedPoint], search: &Search) -> Scored<'p> {
    let wanted: Vec<_> = among.iter().copied().filter(|point| meets(search.condition(), point)).collect();
    let arms =
        |arms: &[Search]| -> Vec<Scored<'p>> { arms.iter().map(|arm| self::search(corpus, &wanted, arm)).collect() };
    let compare = |using, act: &dyn Fn(&Comparison<'_>, &TaggedPoint) -> Option<f32>| -> Scored<'p> {
        let comparison = corpus.compare(using);
        wanted.iter().filter_map(|point| Some((*point, act(&comparison, point)?))).collect()
    };
    let found = match search.find() {
        Find::Nearest { using, vector } => ranked(compare(using, &|with, point| with.score(vector, point))),
        Find::Mmr { using, vector, diversity, candidates } => {
            let comparison = corpus.compare(using);
            let mut nearest = ranked(compare(using, &|with, point| with.score(vector, point)));
            nearest.truncate(*candidates);
            unlike_each_other(&comparison, nearest, *diversity, search.limit())
        }
        Find::Recommend { using, like, unlike, strategy } => ranked(compare(using, &|with, point| {
            let scores =
                |vectors: &[_]| vectors.iter().map(|vector| with.near(vector, point)).collect::<Option<Vec<_>>>();
            let (like, unlike) = (scores(like)?, scores(unlike)?);
            let best = |scores: &[f32]| scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            Some(match strategy {
                Strategy::SumScores => like.iter().sum::<f32>() - unlike.iter().sum::<f32>(),
                Strategy::BestScore if best(&like) > best(&unlike) => squash(best(&like)),
                Strategy::BestScore => -squash(best(&unlike)),
            })
        })),
        Find::Discover { using, target, pairs } => ranked(compare(using, &|with, point| {
            let mut score = squash(with.near(target, point)?);
            for pair in pairs {
                // A zero is a zero, also one below nothing.
                let near = |example| Some(with.near(example, point)? + 0.0);
                score += match near(pair.positive())?.total_cmp(&near(pair.negative())?) {
                    Ordering::Less => -1.0,
                    Ordering::Equal => 0.0,
                    Ordering::Greater => 1.0,
                };
            }
            Some(score)
        })),
        Find::Context { using, pairs } => ranked(compare(using, &|with, point| {
            pairs.iter().try_fold(0.0, |score, pair| {
                let margin = with.near(pair.positive(), point)? - with.near(pair.negative(), point)? - f32::EPSILON;
                let loss = margin.min(0.0);
                Some(score + loss / (1.0 + loss.abs()))
            })
        })),
        Find::Ordered(order) => ordered(&wanted, order).into_iter().map(|point| (point, 1.0)).collect(),
        // By chance is any order.
        Find::Sample => wanted.iter().map(|point| (*point, 1.0)).collect(),
        Find::Fuse { fusion, arms: wanted } => {
            let found = arms(wanted);
            let points: HashMap<_, _> = found.iter().flatten().map(|(point, _)| (key(point), *point)).collect();
            let keyed = found.iter().map(|arm| arm.iter().map(|(point, score)| (key(point), *score)).collect());
            let fused = fuse(fusion, keyed.collect(), usize::MAX);
            fused.into_iter().filter_map(|(key, score)| Some((*points.get(&key)?, score))).collect()
        }
        Find::Rescore { score, arms: wanted } => {
            let found = arms(wanted);
            let score = |point: &'p TaggedPoint| {
                let given: Vec<_> = found.iter().map(|arm| given(arm, point)).collect();
                (point, score.evaluate(point.payload(), &given, &|condition| meets(Some(condition), point)))
            };
            ranked(union(&found).into_iter().map(score).collect())
        }
        Find::Refine { using, vector, arms: wanted } => {
            let (comparison, found) = (corpus.compare(using), union(&arms(wanted)));
            let scores = found.into_iter().filter_map(|point| Some((point, comparison.score(vector, point)?)));
            ranked(scores.collect())
        }
    };
    let threshold = search.threshold().unwrap_or(f32::NEG_INFINITY);
    found.into_iter().filter(|(_, score)| *score >= threshold).take(search.limit()).collect()
}

/// Points in the order of a value; those with several by the one that comes first.
pub(crate) fn ordered<'p>(points: &[&'p TaggedPoint], order: &Order) -> Vec<&'p TaggedPoint> {
    let sign = if order.is_descending() { -1.0 } else { 1.0 };
    let from = order.from().map_or(f64::NEG_INFINITY, |from| sign * number_of(from));
    let mut valued: Vec<_> = points
        .iter()
        .filter_map(|point| {
            let values = order.key().items(point.payload()).filter_map(number);
            let value = values.map(|value| sign * value).filter(|value| *value >= from).min_by(f64::total_cmp)?;
            Some((value, key(point), *point))
        })
        .collect();
    valued.sort_by(|(one, first, _), (two, second, _)| one.total_cmp(two).then_with(|| first.cmp(second)));
    valued.into_iter().map(|(_, _, point)| point).collect()
}

fn key(point: &TaggedPoint) -> (&str, PointKey) {
    (reserved::text(point.payload(), reserved::ID).unwrap_or_default(), *point.key())
}

fn ranked(scored: Scored<'_>) -> Scored<'_> {
    let points: HashMap<_, _> = scored.iter().map(|(point, _)| (key(point), *point)).collect();
    let keyed = in_order(scored.iter().map(|(point, score)| (key(point), *score)).collect());
    keyed.into_iter().filter_map(|(key, score)| Some((*points.get(&key)?, score))).collect()
}

fn union<'p>(arms: &[Scored<'p>]) -> Vec<&'p TaggedPoint> {
    let mut points: Vec<_> = arms.iter().flatten().map(|(point, _)| *point).collect();
    points.sort_by_key(|point| *point.key());
    points.dedup_by_key(|point| *point.key());
    points
}

fn given(arm: &Scored<'_>, point: &TaggedPoint) -> f32 {
    arm.iter().find(|(found, _)| found.key() == point.key()).map_or(0.0, |(_, score)| *score)
}

/// Of the nearest, one after the other the one that is most near and least like those taken.
fn unlike_each_other<'p>(
    comparison: &Comparison<'_>,
    mut nearest: Scored<'p>,
    diversity: f32,
    limit: usize,
) -> Scored<'p> {
    let mut taken: Scored<'p> = Vec::new();
    while taken.len() < limit && !nearest.is_empty() {
        let worth = |(point, score): &(&TaggedPoint, f32)| {
            let alike = taken.iter().filter_map(|(other, _)| comparison.alike(point, other)).fold(f32::NAN, f32::max);
            if alike.is_nan() { *score } else { (1.0 - diversity) * score - diversity * alike }
        };
        // The first of the best: `nearest` is in order.
        let best = nearest.iter().enumerate().rev().max_by(|(_, one), (_, two)| worth(one).total_cmp(&worth(two)));
        let Some(at) = best.map(|(at, _)| at) else { break };
        taken.push(nearest.remove(at));
    }
    taken
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| seconds(value))
}

fn number_of(from: OrderFrom) -> f64 {
    match from {
        #[expect(clippy::cast_precision_loss, reason = "as engines have it")]
        OrderFrom::Integer(number) => number as f64,
        OrderFrom::Float(number) => number,
        OrderFrom::Datetime(time) => match time.duration_since(std::time::UNIX_EPOCH) {
            Ok(since) => since.as_secs_f64(),
            Err(before) => -before.duration().as_secs_f64(),
        },
    }
}

/// Seconds since 1970.
fn seconds(value: &Value) -> Option<f64> {
    let time = humantime::parse_rfc3339(value.as_str()?).ok()?;
    Some(number_of(OrderFrom::Datetime(time)))
}

/// To between 0 and 1, as Qdrant does.
fn squash(score: f32) -> f32 {
    0.5 * (score / (1.0 + score.abs()) + 1.0)
}
