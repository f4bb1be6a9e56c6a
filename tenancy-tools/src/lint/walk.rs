//! The walk over a schema.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::names::{DENIED_SPELLINGS, judge};
use super::object::{accepts_objects, composed};
use super::{Finding, Severity};

pub(super) struct Walk<'s> {
    root: &'s Value,
    seen: HashSet<String>,
    found: Vec<Finding>,
}

/// What a schema at this place is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It alone says what is accepted here.
    Own,
    /// It only narrows what another schema accepts.
    Narrowing,
}

impl<'s> Walk<'s> {
    pub(super) fn over(root: &'s Value) -> Vec<Finding> {
        let mut walk = Self { root, seen: HashSet::new(), found: Vec::new() };
        walk.schema(root, "", Place::Own);
        walk.found
    }

    fn schema(&mut self, schema: &'s Value, at: &str, place: Place) {
        if !self.seen.insert(at.to_owned()) {
            return;
        }
        match schema {
            Value::Bool(false) => {}
            Value::Object(keywords) => {
                self.shape(keywords, at, place);
                for (keyword, value) in keywords {
                    self.keyword(
                        keyword,
                        value,
                        &format!("{at}/{}", escape(keyword)),
                        place_of(keyword, keywords, place),
                    );
                }
            }
            Value::Bool(true) if place == Place::Narrowing => {}
            _ => self.deny(at, "accepts any value", "give the field a type"),
        }
    }

    /// What the schema accepts as a whole.
    fn shape(&mut self, keywords: &Map<String, Value>, at: &str, place: Place) {
        if place == Place::Own && !TYPING.iter().any(|keyword| keywords.contains_key(*keyword)) {
            self.deny(at, "accepts any value", "give the field a type");
        }
        if accepts_objects(keywords) {
            // What they say is judged where they stand.
            let closed =
                ["additionalProperties", "unevaluatedProperties"].iter().any(|rest| keywords.contains_key(*rest));
            if !closed {
                self.deny(at, "accepts names that are not declared", "set additionalProperties to false");
            }
            if composed(keywords) {
                self.deny(at, "declares names in several places", "write the object out, or use a tagged enum");
            }
        }
        if open_list(keywords) {
            self.deny(at, "a list that accepts any item", "give the items a type");
        }
    }

    fn keyword(&mut self, keyword: &str, value: &'s Value, at: &str, place: Place) {
        match keyword {
            "properties" | "dependentSchemas" => self.named(value, at, place),
            "$defs" | "definitions" => self.each_member(value, at, Place::Own),
            "patternProperties" => self.patterns(value, at),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => self.each_item(value, at, place),
            "items" if value.is_array() => self.each_item(value, at, place),
            "items" | "not" | "if" | "then" | "else" | "contains" | "propertyNames" | "contentSchema" => {
                self.schema(value, at, place);
            }
            "additionalProperties" | "unevaluatedProperties" | "additionalItems" | "unevaluatedItems" => {
                self.rest(value, at, place);
            }
            "dependencies" | "dependentRequired" => self.dependencies(value, at, place),
            "required" => self.names(value, at),
            "title" => self.title(value, at),
            "$ref" => self.reference(value, at, place),
            "$dynamicRef" | "$recursiveRef" | "$id" => {
                self.deny(at, "changes what a reference means", "use a plain local $ref");
            }
            // SEP-2243: the argument becomes a header that gateways route by, so the model would choose the route.
            other if other.eq_ignore_ascii_case("x-mcp-header") => {
                self.deny(at, "promotes an argument to a header", "remove the annotation");
            }
            _ => {}
        }
    }

    fn named(&mut self, value: &'s Value, at: &str, place: Place) {
        for (name, schema) in value.as_object().into_iter().flatten() {
            let at = format!("{at}/{}", escape(name));
            self.name(name, &at);
            self.schema(schema, &at, place);
        }
    }

    fn patterns(&mut self, value: &'s Value, at: &str) {
        for (pattern, schema) in value.as_object().into_iter().flatten() {
            let at = format!("{at}/{}", escape(pattern));
            if matches_denied(pattern) {
                self.deny(&at, "a pattern of names that matches a tenant's", "declare the names one by one");
            }
            self.schema(schema, &at, Place::Own);
        }
    }

    fn rest(&mut self, value: &'s Value, at: &str, place: Place) {
        match value {
            Value::Bool(false) => {}
            Value::Bool(true) => self.deny(at, "accepts what is not declared", "set it to false"),
            // A map accepts every name, whatever its values are.
            schema => {
                if !at.ends_with("Items") {
                    self.deny(at, "accepts every name", "declare the names, or take a list of pairs");
                }
                self.schema(schema, at, place);
            }
        }
    }

    fn dependencies(&mut self, value: &'s Value, at: &str, place: Place) {
        for (name, needs) in value.as_object().into_iter().flatten() {
            let at = format!("{at}/{}", escape(name));
            self.name(name, &at);
            if needs.is_array() {
                self.names(needs, &at);
            } else {
                self.schema(needs, &at, place);
            }
        }
    }

    fn names(&mut self, value: &Value, at: &str) {
        for (index, name) in value.as_array().into_iter().flatten().enumerate() {
            if let Some(name) = name.as_str() {
                self.name(name, &format!("{at}/{index}"));
            }
        }
    }

    fn title(&mut self, value: &Value, at: &str) {
        if let Some(title) = value.as_str() {
            self.name(title, at);
        }
    }

    fn reference(&mut self, value: &Value, at: &str, place: Place) {
        let Some(target) = value.as_str().and_then(|text| text.strip_prefix('#')) else {
            return self.deny(at, "refers to another document", "put the schema under $defs");
        };
        match self.root.pointer(target) {
            Some(schema) => self.schema(schema, target, place),
            None => self.deny(at, "refers to nothing", "put the schema under $defs"),
        }
    }

    fn each_member(&mut self, value: &'s Value, at: &str, place: Place) {
        for (name, schema) in value.as_object().into_iter().flatten() {
            self.schema(schema, &format!("{at}/{}", escape(name)), place);
        }
    }

    fn each_item(&mut self, value: &'s Value, at: &str, place: Place) {
        for (index, schema) in value.as_array().into_iter().flatten().enumerate() {
            self.schema(schema, &format!("{at}/{index}"), place);
        }
    }

    fn name(&mut self, name: &str, at: &str) {
        if let Some(judged) = judge(name) {
            let fix = match judged.severity {
                Severity::Deny => "remove it: the scope comes from the caller's credential",
                Severity::Ambiguous => "rename it, or declare it with allow_domain_field and a reason",
            };
            self.found.push(Finding {
                pointer: at.to_owned(),
                severity: judged.severity,
                reason: judged.reason,
                fix,
                name: Some(judged.folded),
            });
        }
    }

    fn deny(&mut self, at: &str, reason: &'static str, fix: &'static str) {
        self.found.push(Finding { pointer: at.to_owned(), severity: Severity::Deny, reason, fix, name: None });
    }
}

/// Whether the schemas under a keyword speak for themselves.
fn place_of(keyword: &str, keywords: &Map<String, Value>, place: Place) -> Place {
    match keyword {
        "not" | "if" | "contains" | "propertyNames" | "contentSchema" | "dependentSchemas" | "dependencies" => {
            Place::Narrowing
        }
        "allOf" | "anyOf" | "oneOf" | "$ref" | "then" | "else" => {
            // Beside a type of the schema's own, the branches only narrow it.
            if ["type", "enum", "const"].iter().any(|own| keywords.contains_key(*own)) {
                Place::Narrowing
            } else {
                place
            }
        }
        _ => Place::Own,
    }
}

/// A list whose items, or whose items after the first few, may be anything.
fn open_list(keywords: &Map<String, Value>) -> bool {
    let is_list = super::object::has_type(keywords, "array");
    let first = keywords.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len) as u64;
    let bounded = first > 0 && keywords.get("maxItems").and_then(Value::as_u64).is_some_and(|most| most <= first);
    is_list && !keywords.contains_key("items") && keywords.get("unevaluatedItems").is_none() && !bounded
}

/// Whether a pattern lets a denied name through. A pattern that can't be compiled does.
fn matches_denied(pattern: &str) -> bool {
    let schema = serde_json::json!({ "pattern": pattern });
    let options = jsonschema::options().offline().with_pattern_options(jsonschema::PatternOptions::regex());
    match options.build(&schema) {
        Ok(validator) => DENIED_SPELLINGS.iter().any(|name| validator.is_valid(&Value::from(*name))),
        Err(_) => true,
    }
}

fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

/// Keywords of which one must be there for a schema to say what it accepts.
const TYPING: &[&str] = &["type", "enum", "const", "$ref", "allOf", "anyOf", "oneOf", "not", "if"];
