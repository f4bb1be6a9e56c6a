//! Changes of a payload.

use serde_json::{Map, Value};

use crate::payload::PayloadKey;

/// Puts keys in, at the path where there is one; `null` takes one out.
pub(crate) fn set_payload(payload: &mut Map<String, Value>, values: &Map<String, Value>, at: Option<&PayloadKey>) {
    let target = match at {
        None => Some(payload),
        Some(path) => path.make(payload),
    };
    let Some(target) = target else { return };
    for (key, value) in values {
        match value {
            Value::Null => target.remove(key),
            value => target.insert(key.clone(), value.clone()),
        };
    }
}

/// Takes keys out.
pub(crate) fn delete_payload(payload: &mut Map<String, Value>, keys: &[PayloadKey]) {
    for key in keys {
        key.remove(payload);
    }
}
