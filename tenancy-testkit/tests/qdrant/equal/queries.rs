//! Random queries: as a message, and as the engine's own request.

use std::collections::HashMap;

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::query::Variant;
use qdrant_client::qdrant::{expression, vector_input};
use qdrant_edge::external::ordered_float::OrderedFloat;
use qdrant_edge::{
    ContextPair, ContextQuery, DecayKind, Direction, DiscoverQuery, Expression, Formula, Fusion, Mmr, NamedQuery,
    OrderBy, Prefetch, QueryEnum, QueryRequest, RecommendQuery, ScoringQuery, SparseVector, StartFrom,
    TypedMultiDenseVector, VectorInternal,
};

use super::dice::Dice;
use super::filters::filter;
use super::points::TERMS;

type Both = (pb::Query, Option<&'static str>, ScoringQuery);

pub(crate) fn query(dice: &mut Dice) -> (pb::QueryPoints, QueryRequest) {
    let depth = dice.below(3);
    let (prefetch, prefetches) = if depth > 0 { arms(dice, depth - 1) } else { Default::default() };
    let (query, using, scoring) = if depth > 0 { rescoring(dice, prefetch.len()) } else { scoring(dice) };
    let (filter, engine_filter) = maybe_filter(dice);
    let (limit, offset) = (dice.below(30) + 1, dice.below(3));
    let score_threshold = threshold(dice, &scoring);
    let wire = pb::QueryPoints {
        collection_name: "c".into(),
        prefetch,
        query: Some(query),
        using: using.map(str::to_owned),
        filter,
        score_threshold,
        limit: Some(limit),
        offset: Some(offset),
        with_payload: Some(true.into()),
        with_vectors: Some(true.into()),
        ..Default::default()
    };
    let engine = QueryRequest {
        prefetches,
        query: Some(scoring),
        filter: engine_filter,
        score_threshold: score_threshold.map(OrderedFloat),
        limit: limit as usize,
        offset: offset as usize,
        params: None,
        with_vector: true.into(),
        with_payload: true.into(),
    };
    (wire, engine)
}

fn arms(dice: &mut Dice, depth: u64) -> (Vec<pb::PrefetchQuery>, Vec<Prefetch>) {
    let count = dice.below(3) + 1;
    (0..count).map(|_| arm(dice, depth)).unzip()
}

fn arm(dice: &mut Dice, depth: u64) -> (pb::PrefetchQuery, Prefetch) {
    let (prefetch, prefetches) = if depth > 0 { arms(dice, depth - 1) } else { Default::default() };
    let (query, using, scoring) = if depth > 0 { distinct(dice, prefetch.len()) } else { sparse_or_dense(dice) };
    let (filter, engine_filter) = maybe_filter(dice);
    let limit = dice.below(40) + 1;
    let wire = pb::PrefetchQuery {
        prefetch,
        query: Some(query),
        using: using.map(str::to_owned),
        filter,
        limit: Some(limit),
        ..Default::default()
    };
    let engine = Prefetch {
        prefetches,
        query: Some(scoring),
        limit: limit as usize,
        params: None,
        filter: engine_filter,
        score_threshold: None,
    };
    (wire, engine)
}

/// Of the points that are found directly.
fn scoring(dice: &mut Dice) -> Both {
    match dice.below(7) {
        0 | 1 => sparse_or_dense(dice),
        2 => {
            let using = dice.pick(&["d", "m", "s"]);
            let (positive, engine_positive) = inputs(dice, using);
            let (negative, engine_negative) = inputs(dice, using);
            let query = named(using, RecommendQuery::new(engine_positive, engine_negative));
            let (strategy, engine) = if dice.once_in(2) {
                (pb::RecommendStrategy::BestScore, QueryEnum::RecommendBestScore(query))
            } else {
                (pb::RecommendStrategy::SumScores, QueryEnum::RecommendSumScores(query))
            };
            let recommend = pb::RecommendInput { positive, negative, strategy: Some(strategy.into()) };
            whole(Variant::Recommend(recommend), Some(using), ScoringQuery::Vector(engine))
        }
        3 => {
            let using = dice.pick(&["d", "s"]);
            let (target, engine_target) = input(dice, using);
            let (pairs, engine_pairs) = pairs(dice, using);
            let discover = pb::DiscoverInput { target: Some(target), context: Some(pb::ContextInput { pairs }) };
            let query = named(using, DiscoverQuery::new(engine_target, engine_pairs));
            whole(Variant::Discover(discover), Some(using), ScoringQuery::Vector(QueryEnum::Discover(query)))
        }
        4 => {
            let using = dice.pick(&["d", "s"]);
            let (pairs, engine_pairs) = pairs(dice, using);
            let query = named(using, ContextQuery::new(engine_pairs));
            let context = pb::ContextInput { pairs };
            whole(Variant::Context(context), Some(using), ScoringQuery::Vector(QueryEnum::Context(query)))
        }
        5 => order_by(dice),
        _ => mmr(dice),
    }
}

/// Of the points that others have found.
fn rescoring(dice: &mut Dice, arms: usize) -> Both {
    match dice.below(6) {
        0 => {
            let engine = Fusion::Rrf { k: 2, weights: None };
            whole(Variant::Fusion(pb::Fusion::Rrf.into()), None, ScoringQuery::Fusion(engine))
        }
        1 => order_by(dice),
        2 => mmr(dice),
        3 => sparse_or_dense(dice),
        _ => distinct(dice, arms),
    }
}

/// Of those, what gives no two points the same score, or the order of an arm would be chance.
fn distinct(dice: &mut Dice, arms: usize) -> Both {
    match dice.below(3) {
        0 => {
            let k = dice.below(60) as u32 + 1;
            let weights: Vec<_> = (0..arms).map(|_| dice.float().abs() + 0.05).collect();
            let engine =
                Fusion::Rrf { k: k as usize, weights: Some(weights.iter().copied().map(OrderedFloat).collect()) };
            whole(Variant::Rrf(pb::Rrf { k: Some(k), weights }), None, ScoringQuery::Fusion(engine))
        }
        1 => whole(Variant::Fusion(pb::Fusion::Dbsf.into()), None, ScoringQuery::Fusion(Fusion::Dbsf)),
        _ => formula(dice),
    }
}

fn sparse_or_dense(dice: &mut Dice) -> Both {
    let using = dice.pick(&["d", "e", "m", "s"]);
    let (input, engine) = input(dice, using);
    let engine = ScoringQuery::Vector(QueryEnum::Nearest(named(using, engine)));
    whole(Variant::Nearest(input), Some(using), engine)
}

fn order_by(dice: &mut Dice) -> Both {
    let key = dice.pick(&["n", "f"]);
    let from = dice.once_in(2).then(|| dice.below(200) as i64 - 100);
    let (direction, engine_direction) =
        dice.pick(&[(pb::Direction::Asc, Direction::Asc), (pb::Direction::Desc, Direction::Desc)]);
    let order = pb::OrderBy {
        key: key.into(),
        direction: Some(direction.into()),
        start_from: from.map(|from| pb::StartFrom { value: Some(pb::start_from::Value::Integer(from)) }),
    };
    let engine = OrderBy {
        key: key.parse().unwrap(),
        direction: Some(engine_direction),
        start_from: from.map(StartFrom::Integer),
    };
    whole(Variant::OrderBy(order), None, ScoringQuery::OrderBy(engine))
}

fn mmr(dice: &mut Dice) -> Both {
    let using = dice.pick(&["d", "m"]);
    let (nearest, vector) = input(dice, using);
    let (diversity, candidates) = (dice.float().abs(), dice.below(40) as u32 + 1);
    let mmr = pb::Mmr { diversity: Some(diversity), candidates_limit: Some(candidates) };
    let engine = Mmr {
        vector,
        using: using.to_owned(),
        lambda: OrderedFloat(1.0 - diversity),
        candidates_limit: candidates as usize,
    };
    let input = pb::NearestInputWithMmr { nearest: Some(nearest), mmr: Some(mmr) };
    whole(Variant::NearestWithMmr(input), Some(using), ScoringQuery::Mmr(engine))
}

/// The score, half of itself where a tag is there, near a place and a number, in many words.
fn formula(dice: &mut Dice) -> Both {
    use expression::Variant as Wire;
    let constant = dice.float().abs() + 0.5;
    let wire = |variant| pb::Expression { variant: Some(variant) };
    let number = |number| wire(Wire::Constant(number));
    let boxed = |expression| Some(Box::new(expression));
    let condition = pb::Condition::matches("tags", "red".to_owned());
    let engine_condition = serde_json::json!({"key": "tags", "match": {"value": "red"}});
    let power = pb::PowExpression { base: boxed(wire(Wire::Variable("n".into()))), exponent: boxed(number(2.0)) };
    let decay = pb::DecayParamsExpression {
        x: boxed(wire(Wire::Variable("f".into()))),
        target: boxed(number(0.25)),
        scale: Some(0.5),
        midpoint: Some(0.4),
    };
    let (kind, engine_kind) = dice.pick(&[
        (Wire::ExpDecay as fn(_) -> _, DecayKind::Exp),
        (Wire::GaussDecay, DecayKind::Gauss),
        (Wire::LinDecay, DecayKind::Lin),
    ]);
    let distance = pb::GeoDistance { origin: Some(pb::GeoPoint { lon: 1.0, lat: 2.0 }), to: "place".into() };
    let far = pb::DivExpression {
        left: boxed(wire(Wire::GeoDistance(distance))),
        right: boxed(number(1e7)),
        by_zero_default: Some(1.0),
    };
    let terms = vec![
        wire(Wire::Mult(pb::MultExpression { mult: vec![wire(Wire::Variable("$score".into())), number(constant)] })),
        wire(Wire::Condition(condition)),
        wire(Wire::Sqrt(Box::new(wire(Wire::Abs(Box::new(wire(Wire::Pow(Box::new(power))))))))),
        wire(kind(Box::new(decay))),
        wire(Wire::Neg(Box::new(wire(Wire::Div(Box::new(far)))))),
        wire(Wire::Ln(Box::new(number(constant)))),
        wire(Wire::Log10(Box::new(wire(Wire::Exp(Box::new(number(constant))))))),
    ];
    let place = serde_json::json!({"lon": 0.0, "lat": 0.0});
    let defaults = HashMap::from([
        ("n".to_owned(), pb::Value::from(3)),
        ("f".to_owned(), pb::Value::from(0.5)),
        ("place".to_owned(), super::points::wire(&place)),
    ]);
    let one = |expression: Expression| Box::new(expression);
    let engine = Formula {
        formula: Expression::Sum(vec![
            Expression::Mult(vec![Expression::Variable("$score".into()), Expression::Constant(constant)]),
            Expression::Condition(Box::new(serde_json::from_value(engine_condition).unwrap())),
            Expression::Sqrt(one(Expression::Abs(one(Expression::Pow {
                base: one(Expression::Variable("n".into())),
                exponent: one(Expression::Constant(2.0)),
            })))),
            Expression::Decay {
                kind: engine_kind,
                x: one(Expression::Variable("f".into())),
                target: Some(one(Expression::Constant(0.25))),
                scale: Some(0.5),
                midpoint: Some(0.4),
            },
            Expression::Neg(one(Expression::Div {
                left: one(Expression::GeoDistance {
                    origin: qdrant_edge::GeoPoint::new(1.0, 2.0).unwrap(),
                    to: "place".parse().unwrap(),
                }),
                right: one(Expression::Constant(1e7)),
                by_zero_default: Some(1.0),
            })),
            Expression::Ln(one(Expression::Constant(constant))),
            Expression::Log10(one(Expression::Exp(one(Expression::Constant(constant))))),
        ]),
        defaults: [
            ("n".to_owned(), serde_json::json!(3)),
            ("f".to_owned(), serde_json::json!(0.5)),
            ("place".to_owned(), place),
        ]
        .into(),
    };
    let wire = pb::Formula { expression: Some(wire(Wire::Sum(pb::SumExpression { sum: terms }))), defaults };
    whole(Variant::Formula(wire), None, ScoringQuery::Formula(engine.try_into().unwrap()))
}

fn pairs(dice: &mut Dice, using: &str) -> (Vec<pb::ContextInputPair>, Vec<ContextPair<VectorInternal>>) {
    let count = dice.below(3) + 1;
    let pairs = (0..count).map(|_| {
        let ((positive, engine_positive), (negative, engine_negative)) = (input(dice, using), input(dice, using));
        let pair = pb::ContextInputPair { positive: Some(positive), negative: Some(negative) };
        (pair, ContextPair { positive: engine_positive, negative: engine_negative })
    });
    pairs.unzip()
}

fn inputs(dice: &mut Dice, using: &str) -> (Vec<pb::VectorInput>, Vec<VectorInternal>) {
    let count = dice.below(3) + 1;
    (0..count).map(|_| input(dice, using)).unzip()
}

fn input(dice: &mut Dice, using: &str) -> (pb::VectorInput, VectorInternal) {
    use vector_input::Variant as Input;
    let (input, engine) = match using {
        "s" => {
            let (indices, values) = dice.terms(TERMS + 2);
            let sparse = SparseVector { indices: indices.clone(), values: values.clone() };
            (Input::Sparse(pb::SparseVector { values, indices }), VectorInternal::Sparse(sparse))
        }
        "m" => {
            let rows = vec![dice.floats(2), dice.floats(2)];
            let vectors = rows.iter().map(|data| pb::DenseVector { data: data.clone() }).collect();
            let engine = TypedMultiDenseVector::try_from_matrix(rows).unwrap();
            (Input::MultiDense(pb::MultiDenseVector { vectors }), VectorInternal::MultiDense(engine))
        }
        _ => {
            let data = dice.floats(if using == "d" { 4 } else { 3 });
            (Input::Dense(pb::DenseVector { data: data.clone() }), VectorInternal::Dense(data))
        }
    };
    (pb::VectorInput { variant: Some(input) }, engine)
}

fn threshold(dice: &mut Dice, scoring: &ScoringQuery) -> Option<f32> {
    let scored = matches!(scoring, ScoringQuery::Vector(_) | ScoringQuery::Fusion(_) | ScoringQuery::Formula(_));
    (scored && dice.once_in(4)).then(|| dice.float().abs() * 0.5)
}

fn maybe_filter(dice: &mut Dice) -> (Option<pb::Filter>, Option<qdrant_edge::Filter>) {
    if !dice.once_in(3) {
        return (None, None);
    }
    let (wire, engine) = filter(dice, 1);
    (Some(wire), Some(serde_json::from_value(engine).unwrap()))
}

fn named<T>(using: &str, query: T) -> NamedQuery<T> {
    NamedQuery { query, using: Some(using.to_owned()) }
}

fn whole(variant: Variant, using: Option<&'static str>, engine: ScoringQuery) -> Both {
    (pb::Query { variant: Some(variant) }, using, engine)
}
