//! Whether a point meets a condition, with everything that is left to an engine decided here.

use serde_json::{Map, Value};

use crate::filter::{Condition, Filter, Place, Words};
use crate::request::TaggedPoint;

/// Whether a point meets a condition, where there is one.
pub(crate) fn meets(condition: Option<&Condition>, point: &TaggedPoint) -> bool {
    let Some(condition) = condition else { return true };
    let engine = |condition: &Condition| Some(as_engine(condition, point, point.payload()));
    condition.judge_with(point.key(), point.payload(), &engine).unwrap_or_default()
}

/// What only an engine can tell, as this one tells it.
fn as_engine(condition: &Condition, point: &TaggedPoint, payload: &Map<String, Value>) -> bool {
    match condition {
        Filter::HasVector(name) => point.vectors().contains_key(name),
        Filter::Inside(path, area) => Place::any_of(path, payload, |place| area.holds(place)),
        Filter::Words(path, words) => path.items(payload).filter_map(Value::as_str).any(|text| {
            let (text, wanted) = (words_of(text), words_of(words.text()));
            match words {
                Words::All(_) => wanted.iter().all(|word| text.contains(word)),
                Words::Any(_) => wanted.iter().any(|word| text.contains(word)),
                Words::Phrase(_) => text.windows(wanted.len().max(1)).any(|part| part == wanted),
            }
        }),
        // Times that are not written in the one way that all read alike.
        _other => false,
    }
}

fn words_of(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}
