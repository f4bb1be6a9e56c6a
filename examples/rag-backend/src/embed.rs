//! Texts into vectors: an OpenAI-compatible service, or an offline default that needs nothing.

use std::collections::BTreeMap;

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;

use crate::http::{HttpClient, UpstreamError};

/// Turns texts into dense vectors.
#[async_trait]
pub trait Embedder: Send + Sync + 'static {
    /// The model's id, for cache keys.
    fn model(&self) -> &str;

    /// Its version, for cache keys.
    fn version(&self) -> &str;

    /// How many numbers a vector has.
    fn dimension(&self) -> usize;

    /// The vector of a text, of length one. Dropped: nothing is kept.
    ///
    /// # Errors
    /// [`UpstreamError`] when a service does not answer as it should.
    async fn embed(&self, text: &str) -> Result<Vec<f32>, UpstreamError>;
}

/// The offline default: words and letter trigrams hashed into a fixed number of signed counters.
///
/// No model, no network, the same on every machine. It knows nothing of meaning: a text is near another when they share
/// words or parts of words, which is enough for handbooks and for showing that tenants stay apart.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it has no settings")]
pub struct HashedNgrams;

#[async_trait]
impl Embedder for HashedNgrams {
    fn model(&self) -> &str {
        "hashed-ngrams"
    }

    fn version(&self) -> &str {
        "1"
    }

    fn dimension(&self) -> usize {
        DIMENSION
    }

    async fn embed(&self, text: &str) -> Result<Vec<f32>, UpstreamError> {
        Ok(hashed_ngrams(text))
    }
}

fn hashed_ngrams(text: &str) -> Vec<f32> {
    let mut vector = vec![0f32; DIMENSION];
    let mut add = |feature: &str, weight: f32| {
        let hash = fnv1a(feature.as_bytes());
        let sign = if hash >> 63 == 0 { weight } else { -weight };
        vector[(hash % DIMENSION as u64) as usize] += sign;
    };
    for word in words(text) {
        add(&word, 1.0);
        let letters: Vec<char> = format!("^{word}$").chars().collect();
        let share = 1.0 / (letters.len() as f32).sqrt();
        for trigram in letters.windows(3) {
            add(&trigram.iter().collect::<String>(), share);
        }
    }
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length == 0.0 {
        // A text without a single word still needs a direction.
        vector[0] = 1.0;
        return vector;
    }
    vector.iter_mut().for_each(|x| *x /= length);
    vector
}

/// Word weights for the lexical arm: term frequencies that saturate. How rare a word is among the tenant's own
/// documents is counted by the engine.
#[must_use]
pub(crate) fn word_weights(text: &str) -> Vec<(u32, f32)> {
    let mut counts = BTreeMap::<u32, f32>::new();
    for word in words(text) {
        *counts.entry((fnv1a(stem(&word).as_bytes()) & 0x7fff_ffff) as u32).or_default() += 1.0;
    }
    counts.into_iter().map(|(word, n)| (word, n * 2.2 / (n + 1.2))).collect()
}

/// Lower-case words without the commonest ones.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .filter(|word| !STOP.contains(&word.as_str()))
}

/// Cuts the commonest English endings: "claims" finds "claim".
#[must_use]
pub(crate) fn stem(word: &str) -> &str {
    for ending in ["ies", "ing", "ed", "es", "s"] {
        if let Some(stem) = word.strip_suffix(ending).filter(|stem| stem.chars().count() >= 4) {
            return stem;
        }
    }
    word
}

fn fnv1a(bytes: &[u8]) -> u64 {
    let mixed = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, b| (hash ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3));
    // The low bits of FNV are weak; fold the high ones in.
    mixed ^ (mixed >> 29)
}

/// An OpenAI-compatible embedding service.
#[derive(Debug)]
pub struct OpenAiEmbedder {
    client: HttpClient,
    url: String,
    key: SecretString,
    model: String,
    dimension: usize,
}

impl OpenAiEmbedder {
    /// The service at `base` (`https://host/v1`), with a model whose vectors have `dimension` numbers.
    ///
    /// # Errors
    /// [`UpstreamError`] when no client can be made.
    pub fn new(base: &str, key: SecretString, model: &str, dimension: usize) -> Result<Self, UpstreamError> {
        let url = format!("{}/embeddings", base.trim_end_matches('/'));
        Ok(Self { client: HttpClient::new()?, url, key, model: model.to_owned(), dimension })
    }
}

#[async_trait]
impl Embedder for OpenAiEmbedder {
    fn model(&self) -> &str {
        &self.model
    }

    fn version(&self) -> &str {
        "service"
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    async fn embed(&self, text: &str) -> Result<Vec<f32>, UpstreamError> {
        #[derive(Deserialize)]
        struct Reply {
            data: Vec<Item>,
        }
        #[derive(Deserialize)]
        struct Item {
            embedding: Vec<f32>,
        }
        let body = json!({ "model": self.model, "input": text });
        let reply: Reply = self.client.post(&self.url, self.key.expose_secret(), &body).await?;
        let vector = reply.data.into_iter().next().map(|item| item.embedding).unwrap_or_default();
        if vector.len() == self.dimension { Ok(vector) } else { Err(UpstreamError::Answer) }
    }
}

const DIMENSION: usize = 384;

const STOP: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "how", "if", "in", "is", "it",
    "its", "may", "must", "of", "on", "or", "our", "that", "the", "their", "them", "there", "they", "this", "to",
    "was", "we", "what", "when", "where", "which", "who", "will", "with", "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        hashed_ngrams(a).iter().zip(hashed_ngrams(b)).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn texts_that_share_words_are_near() {
        let asked = "How many days of annual leave do new staff get?";
        let near = cosine(asked, "New staff receive 26 days of annual leave in the first year.");
        let far = cosine(asked, "Forklift batteries are charged overnight in bay four.");
        assert!(near > 0.3 && far < near / 2.0, "{near} {far}");
    }

    #[test]
    fn a_vector_has_length_one_even_for_no_words() {
        for text in ["", "the", "one two three", "ü"] {
            let length: f32 = hashed_ngrams(text).iter().map(|x| x * x).sum();
            assert!((length - 1.0).abs() < 1e-4, "{text:?}: {length}");
        }
    }
}
