//! Registration and the lint: T3 and its relatives.

use std::collections::HashMap;
use std::net::TcpListener;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};
use tenancy_core::Outcome;
use tenancy_tools::{
    Effect, FilesRoot, Limits, RegistryError, Severity, Tool, ToolError, ToolOutput, ToolRegistry, ToolScope, Tools,
    lint,
};

use crate::house::{House, ReadFile};

/// An object with these properties, closed.
fn object(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

#[test]
fn t3_a_tenant_in_any_disguise_is_found_with_a_pointer() {
    let text = json!({ "type": "string" });
    let with = |key: &str, value: Value| {
        let mut schema = object(json!({ "q": text }));
        schema[key] = value;
        schema
    };
    let closed = object(json!({ "tenant_id": text }));
    for (schema, pointer, mechanism) in [
        (object(json!({ "tenant_id": text })), "/properties/tenant_id", "plain"),
        (object(json!({ "customer-id": text })), "/properties/customer-id", "kebab"),
        (object(json!({ "ｔｅｎａｎｔ": text })), "/properties/ｔｅｎａｎｔ", "full-width letters"),
        (object(json!({ "tеnant": text })), "/properties/tеnant", "Cyrillic letter"),
        (
            object(json!({ "a": object(json!({ "b": closed })) })),
            "/properties/a/properties/b/properties/tenant_id",
            "nested",
        ),
        (
            json!({ "type": "object", "properties": { "f": { "$ref": "#/$defs/F" } }, "additionalProperties": false,
            "$defs": { "F": closed } }),
            "/$defs/F/properties/tenant_id",
            "behind a $ref",
        ),
        (
            json!({ "type": "object", "properties": { "f": { "$ref": "#/x/y~1z" } }, "additionalProperties": false,
            "x": { "y/z": closed } }),
            "/x/y~1z/properties/tenant_id",
            "behind a $ref to an unusual place",
        ),
        (json!({ "oneOf": [object(json!({ "q": text })), closed] }), "/oneOf/1/properties/tenant_id", "in oneOf"),
        (json!({ "anyOf": [closed] }), "/anyOf/0/properties/tenant_id", "in anyOf"),
        (json!({ "allOf": [closed] }), "/allOf/0/properties/tenant_id", "in allOf"),
        (with("if", closed.clone()), "/if/properties/tenant_id", "in if"),
        (with("not", closed.clone()), "/not/properties/tenant_id", "in not"),
        (
            object(json!({ "l": { "type": "array", "items": closed } })),
            "/properties/l/items/properties/tenant_id",
            "in items",
        ),
        (
            object(json!({ "l": { "type": "array", "prefixItems": [text, closed], "items": false } })),
            "/properties/l/prefixItems/1/properties/tenant_id",
            "in prefixItems",
        ),
        (
            with("dependentSchemas", json!({ "q": closed })),
            "/dependentSchemas/q/properties/tenant_id",
            "dependent schema",
        ),
        (with("dependentRequired", json!({ "q": ["tenant_id"] })), "/dependentRequired/q/0", "dependent name"),
        (with("dependencies", json!({ "tenant_id": ["q"] })), "/dependencies/tenant_id", "older dependency"),
        (with("required", json!(["q", "tenant_id"])), "/required/1", "required without being declared"),
        (with("definitions", json!({ "X": closed })), "/definitions/X/properties/tenant_id", "older definitions"),
        (
            with("patternProperties", json!({ "^(tenant|org)_id$": text })),
            "/patternProperties/^(tenant|org)_id$",
            "pattern that says so",
        ),
        (with("patternProperties", json!({ ".*": text })), "/patternProperties/.*", "pattern that matches everything"),
        (
            with("patternProperties", json!({ "^[a-z_]{9}$": text })),
            "/patternProperties/^[a-z_]{9}$",
            "pattern by length",
        ),
        (with("patternProperties", json!({ "(": text })), "/patternProperties/(", "pattern that is none"),
        (with("additionalProperties", json!(true)), "/additionalProperties", "anything goes"),
        (with("additionalProperties", text.clone()), "/additionalProperties", "a map of texts"),
        (json!({ "type": "object", "properties": { "q": text } }), "", "open because it does not say"),
        (object(json!({ "q": true })), "/properties/q", "any value"),
        (object(json!({ "q": {} })), "/properties/q", "any value, spelt otherwise"),
        (object(json!({ "q": { "description": "free form" } })), "/properties/q", "any value with a description"),
        (object(json!({ "q": { "anyOf": [text, {}] } })), "/properties/q/anyOf/1", "any value as an alternative"),
        (object(json!({ "l": { "type": "array" } })), "/properties/l", "a list of anything"),
        (object(json!({ "q": { "type": ["object", "null"] } })), "/properties/q", "an open object that may be null"),
        (object(json!({ "q": { "type": "string", "title": "Tenant ID" } })), "/properties/q/title", "title"),
        (
            object(json!({ "q": { "type": "string", "x-mcp-header": "Tenant" } })),
            "/properties/q/x-mcp-header",
            "promoted to a header",
        ),
        (
            object(json!({ "q": { "type": "string", "X-MCP-Header": "Region" } })),
            "/properties/q/X-MCP-Header",
            "promoted, in another case",
        ),
        (object(json!({ "f": { "$ref": "https://schemas.example/f.json" } })), "/properties/f/$ref", "remote $ref"),
        (object(json!({ "f": { "$ref": "f.json" } })), "/properties/f/$ref", "$ref to a file"),
        (object(json!({ "f": { "$ref": "#anchor" } })), "/properties/f/$ref", "$ref to an anchor"),
        (object(json!({ "f": { "$dynamicRef": "#meta" } })), "/properties/f/$dynamicRef", "dynamic reference"),
        (with("$id", json!("https://schemas.example/")), "/$id", "another base"),
    ] {
        let found = lint(&schema);
        let here = found.iter().find(|finding| finding.pointer == pointer);
        assert_eq!(here.map(|f| f.severity), Some(Severity::Deny), "{mechanism}: {found:?}");
        assert!(!here.unwrap().fix.is_empty() && !here.unwrap().reason.is_empty());
    }
}

#[test]
fn t3_words_of_the_domain_pass() {
    let text = json!({ "type": "string" });
    let names =
        ["accounting_period", "tenancy_agreement_text", "client_version", "organizer", "accountability", "query"];
    for name in names {
        assert_eq!(lint(&object(json!({ name: text }))), [], "{name}");
    }
    let tree = json!({
        "$defs": { "Node": object(json!({ "children": { "type": "array", "items": { "$ref": "#/$defs/Node" } } })) },
        "type": "object", "properties": { "root": { "$ref": "#/$defs/Node" } }, "additionalProperties": false,
    });
    assert_eq!(lint(&tree), [], "a schema that refers to itself");
    let pattern =
        json!({ "type": "object", "patternProperties": { "^x[0-9]+$": text }, "additionalProperties": false });
    assert_eq!(lint(&pattern), [], "a pattern that no denied name matches");
}

/// A tool of these arguments, for registration only.
struct With<A>(std::marker::PhantomData<fn() -> A>);

impl<A> With<A> {
    const fn new() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<A: for<'a> Deserialize<'a> + JsonSchema + Send + 'static> Tool for With<A> {
    type Args = A;
    const NAME: &'static str = "with";
    const VERSION: &'static str = "1";
    const DESCRIPTION: &'static str = "Takes arguments";
    const EFFECT: Effect = Effect::ReadOnly;

    async fn call(&self, _: &ToolScope<'_>, _: A) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("called"))
    }
}

fn findings<A: for<'a> Deserialize<'a> + JsonSchema + Send + 'static>() -> Vec<String> {
    match ToolRegistry::new().register(With::<A>::new()).map(drop) {
        Err(RegistryError::Schema { tool: "with", findings }) => findings.into_iter().map(|f| f.pointer).collect(),
        Ok(()) => Vec::new(),
        Err(other) => panic!("{other:?}"),
    }
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema counts")]
struct Plain {
    #[serde(rename = "tenantId")]
    whatever: String,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema counts")]
struct Nested {
    inner: Vec<Option<Plain>>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema counts")]
struct Flattened {
    path: String,
    #[serde(flatten)]
    rest: HashMap<String, String>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema counts")]
struct FreeForm {
    filter: Value,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema counts")]
enum Tagged {
    Read { path: String },
    Move { path: String, customer_id: String },
}

/// Written by hand, pointing at a server that would notice.
#[derive(Deserialize)]
struct Remote;

impl JsonSchema for Remote {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Remote".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let port = LISTENER.local_addr().unwrap().port();
        json_schema!({ "type": "object", "properties": { "f": { "$ref": format!("http://127.0.0.1:{port}/f.json") } } })
    }
}

static LISTENER: std::sync::LazyLock<TcpListener> = std::sync::LazyLock::new(|| {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
});

#[test]
fn t3_registration_refuses_the_schema_as_it_is_emitted() {
    assert_eq!(findings::<Plain>(), ["/properties/tenantId", "/required/0"]);
    assert_eq!(findings::<Nested>(), ["/$defs/Plain/properties/tenantId", "/$defs/Plain/required/0"]);
    assert_eq!(findings::<Flattened>(), ["/additionalProperties"]);
    assert_eq!(findings::<FreeForm>(), ["/properties/filter"]);
    assert!(findings::<Tagged>().contains(&"/oneOf/1/properties/customer_id".to_owned()), "{:?}", findings::<Tagged>());
    assert_eq!(findings::<Remote>(), ["/properties/f/$ref"]);
    assert!(LISTENER.accept().is_err(), "the lint made a request");
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Sound {
    Read { path: String },
    Count,
    Many { paths: Vec<String>, tail: Option<(String, u8)> },
}

#[tokio::test]
async fn a_sound_schema_is_closed_registered_and_checked_against() {
    let mut registry = ToolRegistry::new();
    registry.register(With::<Sound>::new()).unwrap();
    let house = House::with(registry, Limits::default()).await;
    let spec = house.acme.specs().pop().unwrap();
    assert_eq!((spec.name, spec.version, spec.effect), ("with", "1", Effect::ReadOnly));
    let schema: Value = serde_json::from_str(&spec.schema).unwrap();
    assert_eq!(schema["oneOf"][0]["additionalProperties"], json!(false));
    assert_eq!(house.acme.specs(), house.globex.specs());
    for (arguments, taken) in [
        (r#"{"op":"read","path":"x"}"#, true),
        (r#"{"op":"count"}"#, true),
        (r#"{"op":"many","paths":[],"tail":["a",1]}"#, true),
        (r#"{"op":"many","paths":[],"tail":["a",1,{"x":1}]}"#, false),
        (r#"{"op":"count","path":"x"}"#, false),
        (r#"{"op":"erase"}"#, false),
    ] {
        assert_eq!(house.acme.call("with", arguments).await.is_ok(), taken, "{arguments}");
    }
    // Both variants with fields are read, so their fields count.
    let read: Sound = serde_json::from_str(r#"{"op":"read","path":"x"}"#).unwrap();
    assert!(matches!(read, Sound::Read { path } if path == "x"));
    let many: Sound = serde_json::from_str(r#"{"op":"many","paths":[],"tail":null}"#).unwrap();
    assert!(matches!(many, Sound::Many { paths, tail: None } if paths.is_empty()));
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema counts")]
struct Crm {
    account: String,
    #[serde(rename = "clientName")]
    client_name: String,
}

#[tokio::test]
async fn an_ambiguous_field_needs_a_reason_that_is_on_record() {
    let mut registry = ToolRegistry::new();
    let refused = registry.register(With::<Crm>::new()).map(drop).unwrap_err();
    assert!(matches!(&refused, RegistryError::Schema { findings, .. } if findings.len() == 4), "{refused}");
    assert!(refused.to_string().contains("/properties/account"), "{refused}");
    for (name, reason) in [("tenant_id", "a reason"), ("path", "a reason"), ("account", " ")] {
        assert!(registry.allow_domain_field(name, reason).is_err(), "{name}");
    }
    registry.allow_domain_field("account", "the CRM's own accounts").unwrap();
    assert!(registry.register(With::<Crm>::new()).is_err(), "one of two is allowed");
    registry.allow_domain_field("client-name", "a person's name").unwrap();
    registry.register(With::<Crm>::new()).unwrap();
    assert_eq!(registry.allowed_fields()[1].name, "client_name");

    let house = House::with(registry, Limits::default()).await;
    let called = house.acme.call("with", r#"{"account":"a","clientName":"b"}"#).await.unwrap();
    assert_eq!(called.as_str(), "called");
    let notes = house.records("allow_domain_field").await;
    assert_eq!(notes.len(), 4, "two fields, two lives");
    assert!(notes.iter().all(|n| n.outcome() == Outcome::Done && n.life().is_some()));
    assert_eq!(notes[0].reason(), Some("account: the CRM's own accounts"));
    for _ in 0..3 {
        house.tools.clone().scoped(&house.tenants.context("acme").await).unwrap();
    }
    assert_eq!(house.records("allow_domain_field").await.len(), 4, "once a life, not once a request");
}

#[test]
fn a_name_is_taken_once_and_well_formed() {
    struct Odd;
    impl Tool for Odd {
        type Args = tenancy_tools::NoArguments;
        const NAME: &'static str = "Odd Name";
        const VERSION: &'static str = "1";
        const DESCRIPTION: &'static str = "";
        const EFFECT: Effect = Effect::ReadOnly;
        async fn call(&self, _: &ToolScope<'_>, _: Self::Args) -> Result<ToolOutput, ToolError> {
            Ok(ToolOutput::text(""))
        }
    }
    let mut registry = ToolRegistry::new();
    registry.register(ReadFile).unwrap();
    assert!(matches!(registry.register(ReadFile), Err(RegistryError::Twice { tool: "read_file" })));
    assert!(matches!(registry.register(Odd), Err(RegistryError::Name { .. })));
}

#[tokio::test]
async fn a_root_behind_a_link_works_and_is_not_resolved_again() {
    let tenants = tenancy_testkit::TestTenants::new().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("real")).unwrap();
    std::os::unix::fs::symlink("real", folder.path().join("linked")).unwrap();
    let root = FilesRoot::provision(folder.path().join("linked")).unwrap();
    std::fs::rename(folder.path().join("real"), folder.path().join("moved")).unwrap();
    let tools = Tools::new(tenants.realm(), ToolRegistry::new().close(), root);
    let acme = tools.scoped(&tenants.context("acme").await).unwrap();
    acme.files().write("f", "x").await.unwrap();
    assert_eq!(acme.files().read("f").await.unwrap(), b"x");
    assert_eq!(crate::house::names(&folder.path().join("moved")).len(), 1);
}
