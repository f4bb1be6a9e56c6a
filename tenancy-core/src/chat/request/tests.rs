use std::collections::HashMap;

use serde_json::{Value, json};

use super::*;

/// Two requests that differ everywhere, with every field set: first and last letter of a pair, smaller and larger number.
fn request(pick: fn(&'static str) -> &'static str, n: u8) -> Value {
    json!({
        "model": {"id": pick("ab"), "version": pick("ab"), "adapter": vec![n; 32]},
        "messages": [{
            "role": if n == 1 { "assistant" } else { "user" },
            "content": pick("cd"),
            "name": pick("ef"),
            "tool_calls": [{"id": pick("gh"), "name": pick("ij"), "arguments": pick("kl")}],
            "tool_call_id": pick("mn"),
        }],
        "temperature": f64::from(n) / 10.0,
        "top_p": f64::from(n) / 100.0,
        "top_k": n + 1,
        "min_p": f64::from(n) / 1000.0,
        "frequency_penalty": -f64::from(n),
        "presence_penalty": n + 10,
        "repetition_penalty": n + 20,
        "max_tokens": n + 30,
        "n": n + 40,
        "seed": n + 50,
        "stop": [pick("op")],
        "logit_bias": [[n + 60, n + 70]],
        "logprobs": n + 80,
        "tools": [{"name": pick("qr"), "version": pick("st"), "description": pick("uv"), "parameters": pick("wx")}],
        "tool_choice": {"function": pick("yz")},
        "parallel_tool_calls": n == 1,
        "response_format": {"schema": pick("yz")},
        "reasoning_effort": pick("yz"),
    })
}

/// As it is read and written again, which gives the field names that the types have.
fn whole(value: Value) -> Value {
    serde_json::to_value(serde_json::from_value::<ChatRequest>(value).unwrap()).unwrap()
}

fn encoded(value: &Value) -> Vec<u8> {
    let mut fields = Fields::new();
    serde_json::from_value::<ChatRequest>(value.clone()).unwrap().encode(&mut fields);
    fields.as_bytes().to_vec()
}

/// The JSON pointers of all that holds nothing else.
fn leaves(value: &Value, at: &str) -> Vec<String> {
    match value {
        Value::Object(members) => members.iter().flat_map(|(name, one)| leaves(one, &format!("{at}/{name}"))).collect(),
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(n, one)| leaves(one, &format!("{at}/{n}"))).collect()
        }
        Value::Null => panic!("{at} has no value here: give it one"),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => vec![at.to_owned()],
    }
}

/// The fields are those that the types write, so a new one is here without being named.
#[test]
fn every_field_is_in_the_encoding() {
    let base = whole(request(|pair| &pair[..1], 1));
    let other = whole(request(|pair| &pair[1..], 2));
    let mut seen = HashMap::from([(encoded(&base), "the whole".to_owned())]);
    for leaf in leaves(&base, "") {
        let (mut changed, new) = (base.clone(), other.pointer(&leaf).unwrap());
        let old = changed.pointer_mut(&leaf).unwrap();
        assert_ne!(old, new, "{leaf}: the two requests differ everywhere");
        *old = new.clone();
        let twin = seen.insert(encoded(&changed), leaf.clone());
        assert_eq!(twin, None, "{leaf} makes no difference");
    }
}
