//! Schemas, points and changes.

use serde_json::{Map, Value, json};
use tenancy_vector::{
    Change, DenseVector, Distance, ExternalId, IndexKind, Input, MultiVector, PayloadKey, Point, Schema, Select,
    SparseVector, TextOptions, VectorKind, VectorName,
};

use super::random::Random;
use super::{Engine, filters};

pub(super) fn name(text: &str) -> VectorName {
    VectorName::parse(text).unwrap()
}

pub(super) fn key(path: &str) -> PayloadKey {
    PayloadKey::parse(path).unwrap()
}

/// One of the ids that all tenants use.
pub(super) fn id(random: &mut Random) -> ExternalId {
    ExternalId::parse(&format!("p{}", random.below(POPULATION))).unwrap()
}

/// The vectors `dense` and, often, some more; most keys indexed.
pub(super) fn schema(random: &mut Random) -> Schema {
    let vectors = [
        ("dot", VectorKind::Dense { dimension: 3, distance: Distance::Dot }),
        ("late", VectorKind::Multi { dimension: 2, distance: Distance::Cosine }),
        ("lately", VectorKind::Multi { dimension: 2, distance: Distance::Dot }),
        ("sparse", VectorKind::Sparse),
        ("body", VectorKind::Text(TextOptions::new())),
    ];
    let dense = VectorKind::Dense { dimension: 4, distance: Distance::Cosine };
    let mut schema = Schema::new().with(name("dense"), dense).unwrap();
    for (vector, kind) in vectors {
        if random.percent(70) {
            schema = schema.with(name(vector), kind).unwrap();
        }
    }
    for (path, kind) in INDEXES {
        if random.percent(70) {
            schema = schema.index(key(path), kind);
        }
    }
    schema
}

/// A vector that fits under a name.
pub(super) fn input(kind: VectorKind, random: &mut Random) -> Input {
    match kind {
        VectorKind::Dense { dimension, distance } => {
            DenseVector::new((0..dimension).map(|_| number(distance, random)).collect()).unwrap().into()
        }
        VectorKind::Multi { dimension, distance } => {
            let rows = random.many(1, 3, |random| (0..dimension).map(|_| number(distance, random)).collect());
            MultiVector::new(rows).unwrap().into()
        }
        VectorKind::Sparse => {
            let mut indices: Vec<u32> = (0..12).filter(|_| random.percent(30)).collect();
            if indices.is_empty() {
                indices.push(5);
            }
            let values = indices.iter().map(|_| random.value().abs() + 0.01).collect();
            SparseVector::new(indices, values).unwrap().into()
        }
        VectorKind::Text(_) => text(random).into(),
    }
}

/// Whole numbers where products of them are exact, so that ties are ties in every back end.
fn number(distance: Distance, random: &mut Random) -> f32 {
    match distance {
        Distance::Cosine => random.value(),
        Distance::Dot => f32::from(i8::try_from(random.between(-6, 6)).unwrap()),
    }
}

pub(super) fn text(random: &mut Random) -> String {
    random.many(0, 6, |random| *random.pick(&WORDS)).join(" ")
}

/// One of the vectors of a schema.
pub(super) fn any_vector(schema: &Schema, random: &mut Random) -> (VectorName, VectorKind) {
    let vectors: Vec<_> = schema.vectors().collect();
    let (name, kind) = random.pick(&vectors);
    ((*name).clone(), *kind)
}

/// Whether a point always has such a vector.
fn stays(kind: VectorKind, engine: Engine) -> bool {
    engine == Engine::Server && is_weighed(kind)
}

/// Whether a vector is one of terms.
pub(super) const fn is_weighed(kind: VectorKind) -> bool {
    match kind {
        VectorKind::Sparse | VectorKind::Text(_) => true,
        VectorKind::Dense { .. } | VectorKind::Multi { .. } => false,
    }
}

/// A vector of a point; a text has a word in it where it has to stay.
fn stored(kind: VectorKind, random: &mut Random, engine: Engine) -> Input {
    match kind {
        VectorKind::Text(_) if stays(kind, engine) => format!("{} {}", random.word(&WORDS[..5]), text(random)).into(),
        VectorKind::Text(_) | VectorKind::Dense { .. } | VectorKind::Multi { .. } | VectorKind::Sparse => {
            input(kind, random)
        }
    }
}

fn point(schema: &Schema, id: ExternalId, random: &mut Random, engine: Engine) -> Point {
    let point = Point::new(id, payload(random, engine)).unwrap();
    schema.vectors().fold(point, |point, (name, kind)| {
        if random.percent(80) || stays(kind, engine) {
            point.with(name.clone(), stored(kind, random, engine))
        } else {
            point
        }
    })
}

fn points(schema: &Schema, random: &mut Random, engine: Engine) -> Vec<Point> {
    let mut ids = random.many(1, 12, id);
    ids.sort();
    ids.dedup();
    ids.into_iter().map(|id| point(schema, id, random, engine)).collect()
}

/// Keys that are there or not, with one value or a list, and sometimes a value of another kind.
fn payload(random: &mut Random, engine: Engine) -> Map<String, Value> {
    let mut payload = Map::new();
    let mut put = |key: &str, random: &mut Random, one: &dyn Fn(&mut Random) -> Value| {
        let value = match random.below(10) {
            0 => return,
            // An order by lists has a point at each of its items, and a server counts each towards the limit.
            1 if engine == Engine::Composed => Value::Array(random.many(0, 3, |random| one(random))),
            2 => Value::Null,
            3 => json!("another kind"),
            _ => one(random),
        };
        payload.insert(key.to_owned(), value);
    };
    put("tag", random, &|random| json!(random.pick(&TAGS)));
    put("n", random, &|random| json!(random.between(-4, 9)));
    put("x", random, &|random| json!(f64::from(random.value())));
    put("flag", random, &|random| json!(random.percent(50)));
    put("at", random, &|random| {
        json!(format!("2026-{:02}-{:02}T{:02}:00:00Z", random.between(1, 12), random.between(1, 28), random.below(24)))
    });
    put("place", random, &|random| json!({"lon": random.between(-179, 179), "lat": random.between(-89, 89)}));
    put("deep", random, &|random| json!({"n": random.between(0, 4), "tags": random.many(0, 3, |r| *r.pick(&TAGS))}));
    put("parts", random, &|random| json!({"n": random.between(0, 4), "tag": random.pick(&TAGS)}));
    if random.percent(80) {
        // One text: how far apart the texts of a list are, is the engine's.
        payload.insert("words".to_owned(), json!(text(random)));
    }
    // A list of objects, for conditions on one of them at once.
    let parts = random.many(0, 3, |random| json!({"n": random.between(0, 4), "tag": random.pick(&TAGS)}));
    payload.insert("list".to_owned(), Value::Array(parts));
    payload
}

/// A change of any kind; most of them bring points.
pub(super) fn change(schema: &Schema, random: &mut Random, engine: Engine) -> Change {
    let names = |random: &mut Random| {
        let mut names = random.many(1, 2, |random| any_vector(schema, random).0);
        names.sort();
        names.dedup();
        names
    };
    match random.below(14) {
        0 => Change::Insert(points(schema, random, engine)),
        1 => {
            Change::Update(points(schema, random, engine), random.percent(50).then(|| filters::filter(schema, random)))
        }
        2 => {
            let mut ids = random.many(1, 4, id);
            ids.sort();
            ids.dedup();
            let vectors = ids.into_iter().map(|id| {
                let vectors = names(random).into_iter().map(|name| {
                    let kind = schema.vector(&name).unwrap();
                    (name, stored(kind, random, engine))
                });
                (id, vectors.collect())
            });
            Change::SetVectors(vectors.collect())
        }
        3 => {
            let mut names = names(random);
            names.retain(|name| !stays(schema.vector(name).unwrap(), engine));
            Change::DeleteVectors(few(schema, random), names)
        }
        4 => {
            let mut values = payload(random, engine);
            values.retain(|_, _| random.percent(30));
            Change::SetPayload(few(schema, random), values, random.percent(30).then(|| key("deep")))
        }
        5 => Change::OverwritePayload(random.many(1, 2, |random| {
            let payload = if random.percent(20) { Map::new() } else { payload(random, engine) };
            (id(random), payload)
        })),
        6 => Change::DeletePayload(few(schema, random), random.many(1, 2, |random| key(random.word(&GONE)))),
        7 => Change::Delete(few(schema, random)),
        _ => Change::Upsert(points(schema, random, engine)),
    }
}

fn few(schema: &Schema, random: &mut Random) -> Select {
    if random.percent(60) {
        return Select::Ids(random.many(1, 3, id));
    }
    if random.percent(10) {
        return Select::All;
    }
    let all = filters::filter(schema, random);
    Select::Matching(tenancy_vector::Filter::All(vec![all, tenancy_vector::Filter::HasId(random.many(1, 8, id))]))
}

pub(super) const POPULATION: usize = 24;
pub(super) const TAGS: [&str; 5] = ["red", "green", "blue", "Red", ""];
pub(super) const WORDS: [&str; 8] = ["vector", "search", "tenant", "isolation", "Search", "fence", "life", "of"];
const GONE: [&str; 5] = ["tag", "n", "deep.n", "words", "missing"];
pub(super) const INDEXES: [(&str, IndexKind); 8] = [
    ("tag", IndexKind::Keyword),
    ("n", IndexKind::Integer),
    ("x", IndexKind::Float),
    ("flag", IndexKind::Flag),
    ("at", IndexKind::Datetime),
    ("place", IndexKind::Geo),
    ("words", IndexKind::Words),
    ("deep.n", IndexKind::Integer),
];
