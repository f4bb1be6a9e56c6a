//! Objects in schemas: which schemas accept one, and closing them.

use serde_json::{Map, Value};

/// Closes every object that does not say whether it takes undeclared names. `schemars` leaves them open unless the type
/// says `deny_unknown_fields`; a field that nobody declared is a field that nobody checked.
///
/// The title of the root is the name of a Rust type and tells a model nothing: it goes.
pub(crate) fn close(schema: &mut Value) {
    if let Some(root) = schema.as_object_mut() {
        root.remove("title");
    }
    close_all(schema);
}

fn close_all(value: &mut Value) {
    let Some(keywords) = value.as_object_mut() else { return };
    for (keyword, value) in keywords.iter_mut() {
        match keyword.as_str() {
            "properties" | "patternProperties" | "$defs" | "definitions" => {
                value.as_object_mut().into_iter().flatten().for_each(|(_, schema)| close_all(schema));
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                value.as_array_mut().into_iter().flatten().for_each(close_all);
            }
            "items" | "then" | "else" => close_all(value),
            _ => {}
        }
    }
    if accepts_objects(keywords)
        && !keywords.contains_key("additionalProperties")
        && !keywords.contains_key("unevaluatedProperties")
    {
        keywords.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
}

/// Whether the schema itself speaks about objects.
pub(super) fn accepts_objects(keywords: &Map<String, Value>) -> bool {
    has_type(keywords, "object") || keywords.contains_key("properties")
}

/// Whether the schema declares names of its own beside branches that may declare more. Closed, such an object refuses
/// what its branches ask for; open, it takes anything.
pub(super) fn composed(keywords: &Map<String, Value>) -> bool {
    let declares = |schema: &Value| schema.get("properties").is_some() || schema.get("$ref").is_some();
    let branches =
        ["allOf", "anyOf", "oneOf"].iter().filter_map(|keyword| keywords.get(*keyword)?.as_array()).flatten();
    let conditions = ["then", "else"].iter().filter_map(|keyword| keywords.get(*keyword));
    keywords.contains_key("properties") && (keywords.contains_key("$ref") || branches.chain(conditions).any(declares))
}

pub(super) fn has_type(keywords: &Map<String, Value>, wanted: &str) -> bool {
    match keywords.get("type") {
        Some(Value::String(one)) => one == wanted,
        Some(Value::Array(several)) => several.iter().any(|one| one == wanted),
        _ => false,
    }
}
