//! One of each kind of what a back end is asked.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use serde_json::{Map, json};

use crate::filter::{Area, Condition, Filter, Place, Range, Words};
use crate::id::PointKey;
use crate::name::VectorName;
use crate::payload::PayloadKey;
use crate::query::Fusion;
use crate::request::{
    CountRequest, Decay, Expression, FacetRequest, Find, Order, OrderFrom, Pair, Position, QueryRequest, Search,
    Selector, Strategy, TaggedPoint, TaggedVectors, UpsertMode, Write,
};
use crate::schema::{Distance, IndexKind, Schema, VectorKind};
use crate::vector::{DenseVector, MultiVector, SparseVector, Vector};

pub(super) fn name(text: &str) -> VectorName {
    VectorName::parse(text).unwrap()
}

pub(super) fn key(text: &str) -> PayloadKey {
    PayloadKey::parse(text).unwrap()
}

pub(super) fn point_key(number: u8) -> PointKey {
    PointKey::of_bytes([number; 32])
}

pub(super) fn schema() -> Schema {
    let multi = VectorKind::Multi { dimension: 2, distance: Distance::Dot };
    Schema::hybrid(2).unwrap().with(name("multi"), multi).unwrap().index(key("n"), IndexKind::Integer)
}

pub(super) fn dense() -> Vector {
    DenseVector::new(vec![1.0, 2.0]).unwrap().into()
}

pub(super) fn sparse() -> Vector {
    SparseVector::new(vec![3, 7], vec![1.0, 0.5]).unwrap().into()
}

pub(super) fn multi() -> Vector {
    MultiVector::new(vec![vec![1.0, 2.0]; 3]).unwrap().into()
}

pub(super) fn search(find: Find) -> Search {
    Search { find, condition: None, limit: 10, threshold: None, exact: false }
}

fn with(find: Find, condition: Condition) -> Search {
    Search { condition: Some(condition), ..search(find) }
}

pub(super) const fn query_request_of(schema: Schema, search: Search) -> QueryRequest {
    QueryRequest { schema, search, vectors: false }
}

pub(super) fn query_request(search: Search) -> QueryRequest {
    query_request_of(schema(), search)
}

pub(super) const fn count_request(condition: Option<Condition>) -> CountRequest {
    CountRequest { condition }
}

pub(super) fn facet_request(condition: Option<Condition>) -> FacetRequest {
    FacetRequest { key: key("n"), condition, limit: 5 }
}

pub(super) fn ordered() -> Position {
    Position::Ordered(Order::descending(key("n")).starting_at(OrderFrom::Integer(3)))
}

/// One condition of each kind, and some that a careless lowering would merge.
pub(super) fn conditions() -> Vec<Condition> {
    let equals = || Filter::Equals(key("a"), "x".into());
    let place = |lon, lat| Place::new(lon, lat).unwrap();
    let area = Area::Circle { center: place(1.0, 2.0), radius: 3.0 };
    let line = vec![place(0.0, 0.0), place(1.0, 0.0), place(1.0, 1.0), place(0.0, 0.0)];
    vec![
        equals(),
        Filter::Equals(key("a"), 1.into()),
        Filter::Equals(key("a"), true.into()),
        Filter::AnyOf(key("a.b[].c"), vec!["x".into(), 1.into(), 2.into(), false.into()]),
        Filter::Within(key("n"), Range::new(1.0..2.0).unwrap()),
        Filter::During(key("t"), Range::new(UNIX_EPOCH..).unwrap()),
        Filter::Words(key("w"), Words::All("a b".into())),
        Filter::Words(key("w"), Words::Any("a b".into())),
        Filter::Words(key("w"), Words::Phrase("a b".into())),
        Filter::Inside(key("g"), area),
        Filter::Inside(key("g"), Area::Box { north_west: place(0.0, 1.0), south_east: place(1.0, 0.0) }),
        Filter::Inside(key("g"), Area::Polygon(line)),
        Filter::Items(key("l"), Range::new(1..=3).unwrap()),
        Filter::IsEmpty(key("l")),
        Filter::IsNull(key("l")),
        Filter::HasId(vec![point_key(1), point_key(2)]),
        Filter::HasVector(name("sparse")),
        Filter::Nested(key("o"), Box::new(Filter::Any(vec![equals(), Filter::Not(Box::new(equals()))]))),
        Filter::All(vec![equals(), Filter::Any(vec![equals(), equals()])]),
        Filter::Any(vec![equals(), Filter::HasId(vec![point_key(3)])]),
        Filter::AtLeast(2, vec![equals(), equals(), Filter::IsEmpty(key("a"))]),
        Filter::Not(Box::new(Filter::Any(vec![equals(), Filter::Not(Box::new(equals()))]))),
    ]
}

/// A search of each kind with each kind of vector, on its own, with each condition, and within others.
pub(super) fn searches() -> Vec<Search> {
    let mut all: Vec<_> = leaves().into_iter().map(search).collect();
    let (leaf, other) = (|| Find::Nearest { using: name("sparse"), vector: sparse() }, Filter::IsEmpty(key("z")));
    for condition in conditions() {
        all.push(with(leaf(), condition.clone()));
        let arms = vec![with(leaf(), condition.clone()), search(leaf())];
        all.push(with(Find::Fuse { fusion: Fusion::ranks(), arms: arms.clone() }, other.clone()));
        let score = Expression::Product(vec![Expression::Score(1), Expression::When(Box::new(condition))]);
        all.push(search(Find::Rescore { score, arms }));
    }
    for find in leaves() {
        let arm = with(find, other.clone());
        let fused = search(Find::Fuse { fusion: Fusion::Scores, arms: vec![arm.clone(), arm.clone()] });
        all.push(search(Find::Refine { using: name("sparse"), vector: sparse(), arms: vec![fused.clone(), arm] }));
        all.push(search(Find::Rescore { score: expression(), arms: vec![fused] }));
    }
    all.push(nested_search());
    all
}

/// A sparse root over a sparse search over a sparse search.
pub(super) fn nested_search() -> Search {
    let leaf = || search(Find::Nearest { using: name("sparse"), vector: sparse() });
    let middle = search(Find::Fuse { fusion: Fusion::ranks(), arms: vec![leaf(), leaf()] });
    search(Find::Refine { using: name("sparse"), vector: sparse(), arms: vec![middle, leaf()] })
}

fn leaves() -> Vec<Find> {
    let order = |from| Order::ascending(key("n")).starting_at(from);
    let mut leaves = vec![
        Find::Ordered(Order::ascending(key("n"))),
        Find::Ordered(order(OrderFrom::Float(1.5))),
        Find::Ordered(order(OrderFrom::Datetime(UNIX_EPOCH))),
        Find::Sample,
    ];
    for (using, vector) in [("dense", dense()), ("sparse", sparse()), ("multi", multi())] {
        let (using, pair) = (name(using), || Pair { positive: vector.clone(), negative: vector.clone() });
        let recommend = |like, unlike, strategy| Find::Recommend { using: using.clone(), like, unlike, strategy };
        leaves.extend([
            Find::Nearest { using: using.clone(), vector: vector.clone() },
            Find::Mmr { using: using.clone(), vector: vector.clone(), diversity: 0.3, candidates: 100 },
            recommend(vec![vector.clone(); 2], vec![vector.clone()], Strategy::BestScore),
            recommend(vec![], vec![vector.clone()], Strategy::SumScores),
            Find::Discover { using: using.clone(), target: vector.clone(), pairs: vec![] },
            Find::Discover { using: using.clone(), target: vector.clone(), pairs: vec![pair()] },
            Find::Context { using: using.clone(), pairs: vec![pair(), pair()] },
        ]);
    }
    leaves
}

pub(super) fn expression() -> Expression<PointKey> {
    let number = |number| Box::new(Expression::Number(number));
    let decay = |decay| Expression::Decay {
        decay,
        of: Box::new(Expression::Datetime(key("t"), 0.0)),
        target: 1.0,
        scale: 2.0,
        midpoint: 0.5,
    };
    Expression::Sum(vec![
        Expression::Score(0),
        Expression::Value(key("n"), 0.5),
        Expression::Value(key("n"), 1.5),
        Expression::Distance(Place::new(1.0, 2.0).unwrap(), key("g"), 1e6),
        Expression::Quotient(number(1.0), number(0.0), 3.0),
        Expression::Negative(number(1.0)),
        Expression::Absolute(number(-1.0)),
        decay(Decay::Linear),
        decay(Decay::Exponential),
        decay(Decay::Gauss),
        Expression::When(Box::new(Filter::HasId(vec![point_key(1)]))),
    ])
}

pub(super) fn tagged(number: u8, vectors: &[(&str, Vector)]) -> TaggedPoint {
    let vectors = vectors.iter().map(|(using, vector)| (name(using), vector.clone())).collect::<BTreeMap<_, _>>();
    let payload = Map::from_iter([("tenancy".to_owned(), json!({"life": super::LIFE})), ("n".to_owned(), json!(1))]);
    TaggedPoint { key: point_key(number), vectors, payload }
}

/// A write of each kind, with each kind of selector and each condition.
pub(super) fn writes() -> Vec<Write> {
    let points = || vec![tagged(1, &[("dense", dense())]), tagged(2, &[("sparse", sparse()), ("multi", multi())])];
    let vectors = |vector| {
        let vectors = BTreeMap::from([(name("sparse"), vector)]);
        Write::SetVectors(vec![TaggedVectors { key: point_key(1), vectors }])
    };
    let payload = || Map::from_iter([("n".to_owned(), json!(2))]);
    let mut all = vec![
        Write::Upsert { points: points(), mode: UpsertMode::Replace },
        Write::Upsert { points: points(), mode: UpsertMode::Insert },
        vectors(sparse()),
        vectors(SparseVector::empty().into()),
        Write::OverwritePayload(point_key(1), payload()),
    ];
    let conditions = conditions().into_iter().map(Some).chain([None]);
    let selectors =
        conditions.clone().map(Selector::Matching).chain([Selector::Keys(vec![point_key(1), point_key(2)])]);
    for selector in selectors {
        all.extend([
            Write::DeleteVectors(selector.clone(), vec![name("sparse")]),
            Write::SetPayload(selector.clone(), payload(), None),
            Write::SetPayload(selector.clone(), payload(), Some(key("a.b"))),
            Write::DeletePayload(selector.clone(), vec![key("n")]),
            Write::Delete(selector),
        ]);
    }
    all.extend(conditions.map(|condition| Write::Upsert { points: points(), mode: UpsertMode::Update(condition) }));
    all
}

/// The number of a kind of search; a new kind does not compile until it is walked.
pub(super) const fn kind(search: &Search) -> usize {
    match search.find {
        Find::Nearest { .. } => 0,
        Find::Mmr { .. } => 1,
        Find::Recommend { .. } => 2,
        Find::Discover { .. } => 3,
        Find::Context { .. } => 4,
        Find::Ordered(_) => 5,
        Find::Sample => 6,
        Find::Fuse { .. } => 7,
        Find::Rescore { .. } => 8,
        Find::Refine { .. } => 9,
    }
}

pub(super) const KINDS: usize = 10;
