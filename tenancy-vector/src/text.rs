//! Texts as weights of their words (BM25, Robertson and Zaragoza, 2009).
//!
//! Done here, so that every back end has the same words. A back end multiplies by how rare a word is among the life's
//! own points.

use std::collections::BTreeMap;

use qdrant_rust_stemmers::{Algorithm, Stemmer};
use serde_json::{Value, json};
use unicode_segmentation::UnicodeSegmentation;

use crate::error::VectorError;
use crate::name::VectorName;
use crate::schema::{Schema, VectorKind};
use crate::vector::{Input, SparseVector, Vector};

/// How texts are cut into words.
///
/// The length of an average text is a constant, not counted: counted over all tenants it would tell of others, and a
/// weight is not written again when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    language: Option<Language>,
    average_words: u16,
}

/// A language whose words are brought to their stems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// Danish.
    Danish,
    /// Dutch.
    Dutch,
    /// English.
    English,
    /// Finnish.
    Finnish,
    /// French.
    French,
    /// German.
    German,
    /// Italian.
    Italian,
    /// Norwegian.
    Norwegian,
    /// Portuguese.
    Portuguese,
    /// Russian.
    Russian,
    /// Spanish.
    Spanish,
    /// Swedish.
    Swedish,
}

/// Which side of a search a text is on: how often a word is in a document counts, and in a query it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Document,
    Query,
}

impl TextOptions {
    /// Words as they stand, in lower case; 256 of them in an average text.
    #[must_use]
    pub const fn new() -> Self {
        Self { language: None, average_words: 256 }
    }

    /// With words brought to their stems (Snowball).
    #[must_use]
    pub const fn language(mut self, language: Language) -> Self {
        self.language = Some(language);
        self
    }

    /// Sets how many words an average text has; 0 counts as 1.
    #[must_use]
    pub const fn average_words(mut self, words: u16) -> Self {
        self.average_words = if words == 0 { 1 } else { words };
        self
    }

    pub(crate) fn to_json(self) -> Value {
        json!({ "language": self.language.map(Language::code), "average_words": self.average_words })
    }

    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let average_words = u16::try_from(value.get("average_words")?.as_u64()?).ok()?;
        let language = match value.get("language")? {
            Value::Null => None,
            code => Some(Language::of(code.as_str()?)?),
        };
        Some(Self { language, ..Self::new().average_words(average_words) })
    }

    /// The weights of a text's words.
    fn encode(self, text: &str, side: Side) -> Result<SparseVector, VectorError> {
        let stemmer = self.language.map(|language| Stemmer::create(language.algorithm()));
        let (mut counts, mut length) = (BTreeMap::<u32, f32>::new(), 0.0);
        for word in text.unicode_words() {
            let word = word.to_lowercase();
            let stem = stemmer.as_ref().map_or(word.as_str().into(), |stemmer| stemmer.stem(&word));
            *counts.entry(term(&stem)).or_default() += 1.0;
            length += 1.0;
        }
        if counts.is_empty() {
            return Ok(SparseVector::empty());
        }
        let ratio: f32 = length / f32::from(self.average_words);
        let weight = |count: f32| match side {
            Side::Query => 1.0,
            Side::Document => count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * ratio)),
        };
        let (indices, values) = counts.into_iter().map(|(index, count)| (index, weight(count))).unzip();
        SparseVector::new(indices, values)
    }
}

impl Default for TextOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// The vector that an input stands for under a name.
pub(crate) fn vector(schema: &Schema, name: &VectorName, input: &Input, side: Side) -> Result<Vector, VectorError> {
    let vector = match (input, schema.vector(name)) {
        (Input::Text(text), _) if text.len() > Input::MAX_TEXT_BYTES => {
            return Err(VectorError::TooHeavy { most: Input::MAX_TEXT_BYTES });
        }
        (Input::Text(text), Some(VectorKind::Text(options))) => Vector::Sparse(options.encode(text, side)?),
        (Input::Text(_), Some(_)) => return Err(VectorError::WrongKind(name.clone())),
        (Input::Text(_), None) => return Err(VectorError::UnknownVector(name.clone())),
        (Input::Vector(vector), _) => vector.clone(),
    };
    schema.admit(name, &vector)?;
    Ok(vector)
}

/// The index of a word: 32 bits of FNV-1a. Two words that share one count as the same, which in a hundred thousand
/// words happens to about one pair.
fn term(word: &str) -> u32 {
    word.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

impl Language {
    const ALL: [Self; 12] = [
        Self::Danish,
        Self::Dutch,
        Self::English,
        Self::Finnish,
        Self::French,
        Self::German,
        Self::Italian,
        Self::Norwegian,
        Self::Portuguese,
        Self::Russian,
        Self::Spanish,
        Self::Swedish,
    ];

    /// ISO 639-1.
    const fn code(self) -> &'static str {
        match self {
            Self::Danish => "da",
            Self::Dutch => "nl",
            Self::English => "en",
            Self::Finnish => "fi",
            Self::French => "fr",
            Self::German => "de",
            Self::Italian => "it",
            Self::Norwegian => "no",
            Self::Portuguese => "pt",
            Self::Russian => "ru",
            Self::Spanish => "es",
            Self::Swedish => "sv",
        }
    }

    fn of(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.code() == code)
    }

    const fn algorithm(self) -> Algorithm {
        match self {
            Self::Danish => Algorithm::Danish,
            Self::Dutch => Algorithm::Dutch,
            Self::English => Algorithm::English,
            Self::Finnish => Algorithm::Finnish,
            Self::French => Algorithm::French,
            Self::German => Algorithm::German,
            Self::Italian => Algorithm::Italian,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Russian => Algorithm::Russian,
            Self::Spanish => Algorithm::Spanish,
            Self::Swedish => Algorithm::Swedish,
        }
    }
}

const K1: f32 = 1.2;
const B: f32 = 0.75;

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(text: &str, side: Side) -> SparseVector {
        TextOptions::new().language(Language::English).encode(text, side).unwrap()
    }

    #[test]
    fn a_word_has_one_index_in_all_its_forms() {
        let query = encode("Invoices", Side::Query);
        for text in ["invoice", "INVOICE!", "(invoiced)", "in-voice? no: invoice"] {
            let document = encode(text, Side::Document);
            assert!(document.indices().contains(&query.indices()[0]), "{text}");
        }
        assert!(!encode("voice", Side::Document).indices().contains(&query.indices()[0]));
    }

    #[test]
    fn a_text_without_words_has_no_weights() {
        for text in ["", " \n", "?!", "--"] {
            assert!(encode(text, Side::Query).is_empty(), "{text:?}");
        }
    }

    #[test]
    fn often_counts_more_and_long_counts_less() {
        let weight = |text: &str| {
            let (vector, index) = (encode(text, Side::Document), term("x"));
            vector.values()[vector.indices().binary_search(&index).unwrap()]
        };
        assert!(weight("x x y") > weight("x y z"));
        assert!(weight("x y") > weight(&format!("x {}", "y ".repeat(500))));
        assert_eq!(encode("x x y", Side::Query).values(), [1.0, 1.0]);
    }

    #[test]
    fn options_survive_their_json() {
        for language in Language::ALL {
            let options = TextOptions::new().language(language).average_words(9);
            assert_eq!(TextOptions::from_json(&options.to_json()), Some(options));
        }
        assert_eq!(TextOptions::from_json(&TextOptions::new().to_json()), Some(TextOptions::new()));
    }
}
