//! The body for an engine, field by field.

use serde_json::{Value, json};
use tenancy_cache::EngineSalt;
use tenancy_cache::engine::{BodyError, EngineBody};
use tenancy_core::chat::{
    ChatRequest, Decimal, FunctionSpec, Message, ResponseFormat, Role, ToolCall, ToolChoice, WeightDigest,
};

use crate::{salt, samples};

fn text(chat: &ChatRequest, salt: &EngineSalt) -> String {
    serde_json::to_string(&EngineBody::new(chat, salt).unwrap()).unwrap()
}

fn body(chat: &ChatRequest, salt: &EngineSalt) -> Value {
    serde_json::from_str(&text(chat, salt)).unwrap()
}

fn decimal(text: &str) -> Option<Decimal> {
    Some(Decimal::parse(text).unwrap())
}

fn function(parameters: &str) -> FunctionSpec {
    FunctionSpec {
        name: "find".into(),
        version: "7".into(),
        description: "Finds.".into(),
        parameters: parameters.into(),
    }
}

/// Every field has a value that shows.
fn full() -> ChatRequest {
    ChatRequest {
        model: tenancy_core::chat::ModelIdentity {
            id: "support-7".into(),
            version: "3.1".into(),
            adapter: Some(WeightDigest::new([9; 32])),
        },
        messages: vec![
            Message { name: Some("desk".into()), ..Message::new(Role::System, "Be brief.") },
            Message::new(Role::User, "When is lunch?"),
            Message {
                tool_calls: vec![ToolCall {
                    id: "c1".into(),
                    name: "find".into(),
                    arguments: "{\"q\":\"lunch\"}".into(),
                }],
                ..Message::new(Role::Assistant, "")
            },
            Message { tool_call_id: Some("c1".into()), ..Message::new(Role::Tool, "noon") },
        ],
        temperature: decimal("0.1"),
        top_p: decimal("0.2"),
        top_k: Some(3),
        min_p: decimal("0.04"),
        frequency_penalty: decimal("-0.5"),
        presence_penalty: decimal("0.6"),
        repetition_penalty: decimal("1.000001"),
        max_tokens: Some(8),
        n: 9,
        seed: Some(-10),
        stop: vec!["END".into()],
        logit_bias: vec![(12, Decimal::from_micros(13)), (7, decimal("-100").unwrap())],
        logprobs: Some(14),
        tools: vec![function(r#"{"type":"object"}"#)],
        tool_choice: ToolChoice::Function("find".into()),
        parallel_tool_calls: Some(false),
        response_format: ResponseFormat::Schema(r#"{"type":"string"}"#.into()),
        reasoning_effort: Some("low".into()),
    }
}

#[tokio::test]
async fn everything_that_shapes_the_answer_is_sent_under_the_engines_names() {
    let salt = salt().await;
    let expected = json!({
        "model": "support-7",
        "messages": [
            { "role": "system", "content": "Be brief.", "name": "desk" },
            { "role": "user", "content": "When is lunch?" },
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{
                    "id": "c1",
                    "type": "function",
                    "function": { "name": "find", "arguments": "{\"q\":\"lunch\"}" },
                }],
            },
            { "role": "tool", "content": "noon", "tool_call_id": "c1" },
        ],
        "temperature": 0.1,
        "top_p": 0.2,
        "top_k": 3,
        "min_p": 0.04,
        "frequency_penalty": -0.5,
        "presence_penalty": 0.6,
        "repetition_penalty": 1.000001,
        "max_tokens": 8,
        "n": 9,
        "seed": -10,
        "stop": ["END"],
        "logit_bias": { "12": 0.000013, "7": -100 },
        "logprobs": true,
        "top_logprobs": 14,
        "tools": [{
            "type": "function",
            "function": { "name": "find", "description": "Finds.", "parameters": { "type": "object" } },
        }],
        "tool_choice": { "type": "function", "function": { "name": "find" } },
        "parallel_tool_calls": false,
        "response_format": {
            "type": "json_schema",
            "json_schema": { "name": "answer", "strict": true, "schema": { "type": "string" } },
        },
        "reasoning_effort": "low",
        "cache_salt": salt.as_str(),
    });
    assert_eq!(body(&full(), &salt), expected);
}

#[tokio::test]
async fn what_the_engine_is_left_to_choose_is_not_sent() {
    let salt = salt().await;
    let sent = body(&samples::chat(), &salt);
    let expected = json!({
        "model": "llama",
        "messages": [
            { "role": "system", "content": "Answer briefly." },
            { "role": "user", "content": "When is lunch?" },
        ],
        "n": 1,
        "cache_salt": salt.as_str(),
    });
    assert_eq!(sent, expected);
}

/// Floating point would round some of these, or write them with an exponent.
#[tokio::test]
async fn numbers_have_the_digits_that_are_in_the_key() {
    let salt = salt().await;
    for digits in ["0", "1", "0.1", "0.7", "-2.5", "0.000001", "1.999999", "9000000000.000001", "8999999999999.999999"]
    {
        let mut chat = samples::chat();
        chat.temperature = decimal(digits);
        chat.logit_bias = vec![(5, decimal(digits).unwrap())];
        let text = text(&chat, &salt);
        assert!(text.contains(&format!("\"temperature\":{digits},")), "{text}");
        assert!(text.contains(&format!("\"logit_bias\":{{\"5\":{digits}}}")), "{text}");
    }
}

#[tokio::test]
async fn schemas_are_sent_as_the_texts_they_are() {
    let salt = salt().await;
    let schema = r#"{ "type": "object", "properties": {"b": {}, "a": {"multipleOf": 1.0}}, "$comment": "a\u0062" }"#;
    let mut chat = full();
    chat.tools = vec![function(schema)];
    chat.response_format = ResponseFormat::Schema(schema.into());
    assert_eq!(text(&chat, &salt).matches(schema).count(), 2, "order, spaces and digits");
}

#[tokio::test]
async fn choices_and_forms_have_the_engines_words() {
    let salt = salt().await;
    let with = |tools: bool, choice: ToolChoice| {
        let mut chat = samples::chat();
        chat.tools = if tools { vec![function("{}")] } else { Vec::new() };
        chat.tool_choice = choice;
        body(&chat, &salt).get("tool_choice").cloned()
    };
    assert_eq!(with(true, ToolChoice::Auto), Some(json!("auto")));
    assert_eq!(with(true, ToolChoice::None), Some(json!("none")));
    assert_eq!(with(true, ToolChoice::Required), Some(json!("required")));
    assert_eq!(with(false, ToolChoice::Required), Some(json!("required")), "the engine says that this can't be");
    assert_eq!((with(false, ToolChoice::Auto), with(false, ToolChoice::None)), (None, None));
    let mut chat = samples::chat();
    chat.response_format = ResponseFormat::Json;
    assert_eq!(body(&chat, &salt)["response_format"], json!({ "type": "json_object" }));
}

/// Whoever writes a schema writes no field of the body.
#[tokio::test]
async fn what_is_no_single_json_value_has_no_body() {
    let salt = salt().await;
    for schema in [
        "",
        "{",
        "{},",
        r#"{}, "cache_salt": "s1_victim""#,
        r#"{}}, "cache_salt": "s1_victim", "x": {"#,
        r#"{} {"cache_salt": "s1_victim"}"#,
        "NaN",
        "{'a': 1}",
    ] {
        let mut with_tool = samples::chat();
        with_tool.tools = vec![function(schema)];
        assert_eq!(EngineBody::new(&with_tool, &salt).err(), Some(BodyError::Schema), "{schema:?}");
        let mut with_form = samples::chat();
        with_form.response_format = ResponseFormat::Schema(schema.into());
        assert_eq!(EngineBody::new(&with_form, &salt).err(), Some(BodyError::Schema), "{schema:?}");
    }
    let mut chat = samples::chat();
    chat.logit_bias = vec![(1, Decimal::from_micros(1)), (2, Decimal::from_micros(1)), (1, Decimal::from_micros(2))];
    assert_eq!(EngineBody::new(&chat, &salt).err(), Some(BodyError::Bias));
}

#[tokio::test]
async fn a_body_shows_nothing() {
    let (salt, chat) = (salt().await, full());
    assert_eq!(format!("{:?}", EngineBody::new(&chat, &salt).unwrap()), "EngineBody(..)");
}
