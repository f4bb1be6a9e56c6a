//! Documents as a service might have them: every tenant's are about the same topics.

use serde_json::{Map, Value, json};
use tenancy_vector::{ExternalId, Point, Schema, SparseVector, VectorName};

/// Chunks about a number of topics, in a number of dimensions. The same numbers make the same chunks in every process.
#[derive(Clone, Copy)]
pub(crate) struct Corpus {
    pub(crate) dimension: usize,
    pub(crate) topics: usize,
    /// Bytes of text in a chunk.
    pub(crate) text: usize,
}

/// What is asked: near a topic, by five of its words.
pub(crate) struct Question {
    pub(crate) dense: Vec<f32>,
    pub(crate) terms: (Vec<u32>, Vec<f32>),
}

impl Corpus {
    pub(crate) fn schema(self) -> Schema {
        Schema::hybrid(self.dimension).unwrap()
    }

    /// The vector of a tenant's chunk, of length 1: around the place of its topic, where everybody's are.
    pub(crate) fn vector(self, tenant: usize, chunk: usize) -> Vec<f32> {
        self.around(chunk % self.topics, Dice::of(&[1, tenant, chunk]))
    }

    pub(crate) fn question(self, number: usize) -> Question {
        let topic = number % self.topics;
        let mut dice = Dice::of(&[2, number]);
        Question { dense: self.around(topic, Dice::of(&[3, number])), terms: terms(&mut dice, topic, 5) }
    }

    pub(crate) fn point(self, tenant: usize, chunk: usize) -> Point {
        let (indices, values) = self.terms(tenant, chunk);
        let terms = SparseVector::new(indices, values).unwrap();
        let point = Point::new(external(chunk), self.payload(tenant, chunk)).unwrap();
        let dense = tenancy_vector::DenseVector::new(self.vector(tenant, chunk)).unwrap();
        point.with(VectorName::dense(), dense).with(VectorName::sparse(), terms)
    }

    pub(crate) fn terms(self, tenant: usize, chunk: usize) -> (Vec<u32>, Vec<f32>) {
        terms(&mut Dice::of(&[4, tenant, chunk]), chunk % self.topics, 24)
    }

    pub(crate) fn payload(self, tenant: usize, chunk: usize) -> Map<String, Value> {
        let text = format!("Chunk {chunk} of tenant {tenant} about topic {}. ", chunk % self.topics);
        let text: String = text.chars().cycle().take(self.text).collect();
        let payload = json!({ "text": text, "source": format!("handbook-{}.md", chunk % 17), "page": chunk % 90 });
        payload.as_object().unwrap().clone()
    }

    fn around(self, topic: usize, mut dice: Dice) -> Vec<f32> {
        let mut place = Dice::of(&[5, topic]);
        let vector: Vec<f32> = (0..self.dimension).map(|_| place.around_zero() + 0.7 * dice.around_zero()).collect();
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.into_iter().map(|value| value / length).collect()
    }
}

pub(crate) fn external(chunk: usize) -> ExternalId {
    ExternalId::parse(&format!("chunk:{chunk}")).unwrap()
}

/// Words of a topic's own two hundred, and some that every topic has.
fn terms(dice: &mut Dice, topic: usize, count: usize) -> (Vec<u32>, Vec<f32>) {
    let mut terms = std::collections::BTreeMap::new();
    while terms.len() < count {
        let own = dice.below(4) > 0;
        let word = if own { 1_000 + topic as u64 * 200 + dice.below(200) } else { dice.below(1_000) };
        terms.insert(u32::try_from(word).unwrap(), 0.5 + dice.around_zero().abs());
    }
    terms.into_iter().unzip()
}

/// Numbers by chance, the same for the same seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn of(seed: &[usize]) -> Self {
        Self(seed.iter().fold(0, |seed, part| crate::mix(seed ^ *part as u64)))
    }

    fn below(&mut self, most: u64) -> u64 {
        self.0 = crate::mix(self.0);
        self.0 % most
    }

    /// Between -1 and 1.
    fn around_zero(&mut self) -> f32 {
        self.below(1 << 20) as f32 / (1 << 19) as f32 - 1.0
    }
}
