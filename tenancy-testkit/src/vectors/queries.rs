//! Queries of every kind.

use tenancy_vector::{
    Decay, Example, Expression, Fusion, IndexKind, Order, OrderFrom, Place, Recommend, Schema, VectorKind, VectorQuery,
};

use super::Engine;
use super::data::{self, key};
use super::filters;
use super::random::Random;

/// A query, and what about its answer can be compared.
pub(super) struct Asked {
    pub(super) query: VectorQuery,
    pub(super) limit: usize,
    pub(super) compared: Compared,
}

/// What of an answer is the same everywhere.
pub(super) enum Compared {
    /// The scores, and of equal ones the points.
    Scores,
    /// The order of values, and of equal ones the points.
    Values(Order),
    /// Which points there are, where all are.
    Points,
    /// The points in their order.
    Selection,
}

/// A query with a filter, a limit and now and then a threshold.
pub(super) fn query(schema: &Schema, random: &mut Random, engine: Engine) -> Asked {
    let chance = Chance { schema, engine };
    let (mut query, compared) = match random.below(20) {
        0 | 1 => (VectorQuery::sample(), Compared::Points),
        2 | 3 => {
            let order = order(schema, random);
            match order {
                Some(order) => (VectorQuery::ordered(order.clone()), Compared::Values(order)),
                None => (chance.scored(random, 0, false), Compared::Scores),
            }
        }
        4 => {
            // Of vectors that do not tie: the engine takes either of two that are as good.
            let using = match engine {
                Engine::Composed => random.word(&["dense", "late", "sparse"]),
                // A server measures the likeness of points with weights of terms that belong to the query.
                Engine::Server => random.word(&["dense", "late"]),
            };
            let using = data::name(if schema.vector(&data::name(using)).is_some() { using } else { "dense" });
            let kind = schema.vector(&using).unwrap();
            let diversity = *random.pick(&[0.0, 0.25, 0.5, 0.9]);
            (VectorQuery::mmr(using, data::input(kind, random), diversity).unwrap(), Compared::Selection)
        }
        _ => (chance.scored(random, 3, false), Compared::Scores),
    };
    let limit = *random.pick(&[1, 3, 10, 100]);
    query = query.limit(limit).unwrap();
    if random.percent(60) {
        query = query.filter(filters::filter(schema, random)).unwrap();
    }
    if random.percent(20) && matches!(compared, Compared::Scores) {
        query = query.score_threshold(random.value() / 2.0).unwrap();
    }
    if random.percent(20) {
        query = query.exact();
    }
    if random.percent(30) {
        query = query.with_vectors();
    }
    Asked { query, limit, compared }
}

/// What queries are made of.
struct Chance<'a> {
    schema: &'a Schema,
    engine: Engine,
}

impl Chance<'_> {
    /// A query whose hits are in the order of a score, with arms so deep.
    ///
    /// Where ranks count, or an arm is cut, nothing must hang on the last bit of a score: words weigh the same in many
    /// texts, and sums of them differ by the order in which a back end adds them up.
    fn scored(&self, random: &mut Random, levels: usize, ranked: bool) -> VectorQuery {
        let (mut using, mut kind) = data::any_vector(self.schema, random);
        // What ties in any way has no ranks: whole numbers, pairs with no point on the wrong side, and what was fused.
        let tied = ranked && self.engine == Engine::Server;
        let kinds = if levels > 1 && !tied { 10 } else { 6 };
        let which = random.below(kinds);
        // What is compared with what in 2 to 4 hangs on it too.
        let of_words = matches!(kind, VectorKind::Text(_)) && (ranked || (2..=4).contains(&which));
        if of_words || tied {
            using = data::name("dense");
            kind = self.schema.vector(&using).unwrap();
        }
        match which {
            0 | 1 => VectorQuery::nearest(using, data::input(kind, random)),
            2 => {
                let all = [Recommend::Best, Recommend::Sum, Recommend::Average];
                // There is no average of other vectors.
                let strategies = if matches!(kind, VectorKind::Dense { .. }) { &all[..] } else { &all[..2] };
                let strategy = *random.pick(strategies);
                let like = random.many(1, 2, |random| example(kind, random));
                let unlike = random.many(0, 2, |random| example(kind, random));
                VectorQuery::recommend(using, strategy, like, unlike).unwrap()
            }
            3 => {
                let pairs = random.many(0, 3, |random| (example(kind, random), example(kind, random)));
                VectorQuery::discover(using, example(kind, random), pairs)
            }
            4 if !tied => {
                let pairs = random.many(1, 3, |random| (example(kind, random), example(kind, random)));
                VectorQuery::context(using, pairs).unwrap()
            }
            4 | 5 => VectorQuery::nearest(
                data::name("dense"),
                data::input(self.schema.vector(&data::name("dense")).unwrap(), random),
            ),
            6 | 7 => {
                let by_score = random.percent(40);
                // Scores that differ in their last bit alone are spread over the whole scale.
                let arms = self.arms(random, levels, ranked || !by_score || self.engine == Engine::Server);
                let fusion = match random.below(2) {
                    _ if by_score => Fusion::Scores,
                    0 => Fusion::ranks(),
                    _ => Fusion::weighted(arms.iter().map(|_| random.value().abs() + 0.5).collect()).unwrap(),
                };
                VectorQuery::fuse(fusion, arms)
            }
            8 => {
                let arms = self.arms(random, levels, ranked);
                let score = expression(self, random, arms.len(), 2);
                VectorQuery::rescore(score, arms)
            }
            _ => VectorQuery::refine(using, data::input(kind, random), self.arms(random, levels, ranked)),
        }
    }

    fn arms(&self, random: &mut Random, levels: usize, ranked: bool) -> Vec<VectorQuery> {
        random.many(1, 3, |random| {
            let cut = random.percent(20);
            let arm = self.scored(random, levels - 1, ranked || cut);
            let arm = if cut { arm.limit(5).unwrap() } else { arm };
            if random.percent(30) { arm.filter(filters::filter(self.schema, random)).unwrap() } else { arm }
        })
    }
}

fn example(kind: VectorKind, random: &mut Random) -> Example {
    if random.percent(70) {
        let input = match kind {
            // A text without words is like nothing.
            VectorKind::Text(_) => format!("{} {}", random.word(&data::WORDS), data::text(random)).into(),
            VectorKind::Dense { .. } | VectorKind::Multi { .. } | VectorKind::Sparse => data::input(kind, random),
        };
        return Example::Input(input);
    }
    Example::Point(data::id(random))
}

/// An order by an indexed key; none where the schema has none.
pub(super) fn order(schema: &Schema, random: &mut Random) -> Option<Order> {
    let ordered = |kind| matches!(kind, IndexKind::Integer | IndexKind::Float);
    let keys: Vec<_> = schema.indexes().filter(|(_, kind)| ordered(*kind)).collect();
    if keys.is_empty() {
        return None;
    }
    let (key, kind) = *random.pick(&keys);
    let order = if random.percent(50) { Order::ascending(key.clone()) } else { Order::descending(key.clone()) };
    let from = match kind {
        IndexKind::Integer => OrderFrom::Integer(random.between(-3, 6)),
        _float => OrderFrom::Float(f64::from(random.value())),
    };
    Some(if random.percent(30) { order.starting_at(from) } else { order })
}

fn expression(chance: &Chance<'_>, random: &mut Random, arms: usize, levels: usize) -> Expression {
    let part = |random: &mut Random| expression(chance, random, arms, levels.saturating_sub(1));
    let kinds = if levels == 0 { 6 } else { 12 };
    match random.below(kinds) {
        // A server fails over a value of another kind.
        4 | 5 | 8 if chance.engine == Engine::Server => Expression::Score(0),
        0 => Expression::Number(random.value()),
        1 => Expression::Score(random.below(arms)),
        2 => {
            let keys = match chance.engine {
                Engine::Composed => &["n", "x", "tag", "deep.n", "missing"][..],
                Engine::Server => &["missing"],
            };
            Expression::Value(key(random.word(keys)), random.value())
        }
        3 => Expression::When(Box::new(filters::filter(chance.schema, random))),
        4 => Expression::Product(vec![
            Expression::Datetime(key("at"), 1.767e9),
            // Seconds since 1970 are too many for a single-precision number to tell apart.
            Expression::Number(1e-9),
        ]),
        5 => Expression::Product(vec![
            Expression::Distance(Place::new(13.4, 52.5).unwrap(), key("place"), 1e6),
            Expression::Number(1e-7),
        ]),
        6 => Expression::Sum(random.many(1, 3, part)),
        7 => Expression::Product(random.many(1, 3, part)),
        8 => Expression::Quotient(Box::new(part(random)), Box::new(Expression::Value(key("n"), 0.0)), random.value()),
        9 => Expression::Negative(Box::new(part(random))),
        10 => Expression::Absolute(Box::new(part(random))),
        _ => Expression::Decay {
            decay: *random.pick(&[Decay::Linear, Decay::Exponential, Decay::Gauss]),
            of: Box::new(part(random)),
            target: random.value(),
            scale: random.value().abs() + 0.1,
            midpoint: 0.5,
        },
    }
}
