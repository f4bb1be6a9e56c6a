//! Two companies that write about the same people, products and days, and what is asked about them. For the tests, and for
//! the bench that counts.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

use serde_json::json;
use tenancy_vector::{
    DenseVector, ExternalId, Fusion, Language, Point, Schema, TextOptions, VectorKind, VectorName, VectorQuery,
};

/// Of the dense vectors.
pub(crate) const DIMENSION: usize = 32;

/// A dense vector and a text.
pub(crate) fn schema() -> Schema {
    let text = VectorKind::Text(TextOptions::new().language(Language::English).average_words(24));
    Schema::dense(DIMENSION).unwrap().with(body(), text).unwrap()
}

fn body() -> VectorName {
    VectorName::parse("body").unwrap()
}

/// Words thrown into buckets: near where words are shared, as the vectors of a model are.
fn embed(text: &str) -> DenseVector {
    let mut buckets = vec![0.01; DIMENSION];
    for word in text.split_whitespace() {
        let hash = word.bytes().fold(2_166_136_261_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619));
        buckets[hash as usize % DIMENSION] += 1.0;
    }
    DenseVector::new(buckets).unwrap()
}

pub(crate) fn document(name: &str, owner: &str, text: &str) -> Point {
    let payload = json!({ "owner": owner, "text": text }).as_object().unwrap().clone();
    Point::new(ExternalId::parse(name).unwrap(), payload)
        .unwrap()
        .with(VectorName::dense(), embed(text))
        .with(body(), text.to_owned())
}

/// By words, by nearness, and by both.
pub(crate) fn questions(text: &str) -> [VectorQuery; 3] {
    let (words, near) =
        (VectorQuery::nearest(body(), text.to_owned()), VectorQuery::nearest(VectorName::dense(), embed(text)));
    let both = VectorQuery::fuse(Fusion::ranks(), [words.clone(), near.clone()]);
    [words, near, both]
}

/// What two companies of one trade write: the same people, places, products and days.
pub(crate) struct Corpus {
    pub(crate) name: &'static str,
    pub(crate) documents: fn(usize) -> String,
    pub(crate) questions: fn(usize) -> String,
}

const PEOPLE: [&str; 8] = [
    "Maria Lopez",
    "John Smith",
    "Wei Chen",
    "Fatima Khan",
    "Olga Ivanova",
    "Tom Baker",
    "Aiko Tanaka",
    "Samuel Okoro",
];
const MONTHS: [&str; 6] = ["January", "March", "April", "June", "September", "November"];
const TOPICS: [&str; 7] =
    ["parental leave", "salary review", "remote work", "travel budget", "visa", "training", "resignation"];
const PRODUCTS: [&str; 5] = ["payment gateway", "login service", "search index", "billing export", "mobile app"];
const FAULTS: [&str; 6] =
    ["timed out", "returned 502", "lost messages", "ran out of disk", "used an expired certificate", "doubled charges"];

pub(crate) const CORPORA: [Corpus; 2] = [
    Corpus {
        name: "personnel",
        documents: |n| {
            let (person, topic, month) = (PEOPLE[n % 8], TOPICS[n / 2 % 7], MONTHS[n / 3 % 6]);
            format!(
                "{person} asked about {topic} on {} {month} 2026. Human resources agreed and {person} signs in {month}.",
                1 + n % 28
            )
        },
        questions: |n| {
            let (person, topic, month) = (PEOPLE[n % 8], TOPICS[n % 7], MONTHS[n / 5 % 6]);
            match n % 3 {
                0 => format!("What did {person} ask about {topic}?"),
                1 => format!("Who signed something in {month} 2026 about {topic}?"),
                _ => format!("{person} {month}"),
            }
        },
    },
    Corpus {
        name: "incidents",
        documents: |n| {
            let (product, fault, month, person) =
                (PRODUCTS[n % 5], FAULTS[n / 2 % 6], MONTHS[n / 4 % 6], PEOPLE[n / 3 % 8]);
            format!(
                "On {} {month} the {product} {fault}. {person} restarted the {product} and wrote the report.",
                1 + n % 28
            )
        },
        questions: |n| {
            let (product, fault, month, person) = (PRODUCTS[n % 5], FAULTS[n % 6], MONTHS[n / 7 % 6], PEOPLE[n % 8]);
            match n % 3 {
                0 => format!("Why was the {product} down in {month}?"),
                1 => format!("Which system {fault}, and who restarted it?"),
                _ => format!("Report by {person} about the {product}"),
            }
        },
    },
];

/// How many of a company's documents and questions are taken.
pub(crate) const DOCUMENTS: usize = 120;
pub(crate) const QUESTIONS: usize = 180;
