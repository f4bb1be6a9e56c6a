//! Payloads: JSON, in a message of its own.

use std::collections::HashMap;

use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::{ListValue, Struct, Value as Wire};
use qdrant_edge::Payload;
use serde_json::{Map, Number, Value};
use tonic::Status;

/// The engine's payload. Numbers that JSON can't hold are refused.
pub(crate) fn payload(fields: HashMap<String, Wire>) -> Result<Payload, Status> {
    object(fields).map(Payload)
}

/// The payload as the wire has it.
pub(crate) fn wire_payload(payload: Payload) -> HashMap<String, Wire> {
    payload.0.into_iter().map(|(key, value)| (key, wire(value))).collect()
}

/// A value of the wire as JSON; one without a kind is null.
pub(crate) fn json(value: Wire) -> Result<Value, Status> {
    Ok(match value.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::DoubleValue(number)) => Value::Number(
            Number::from_f64(number).ok_or_else(|| Status::invalid_argument("a number in a payload is not finite"))?,
        ),
        Some(Kind::IntegerValue(number)) => number.into(),
        Some(Kind::StringValue(text)) => text.into(),
        Some(Kind::BoolValue(flag)) => flag.into(),
        Some(Kind::StructValue(Struct { fields })) => Value::Object(object(fields)?),
        Some(Kind::ListValue(ListValue { values })) => {
            Value::Array(values.into_iter().map(json).collect::<Result<_, _>>()?)
        }
    })
}

fn object(fields: HashMap<String, Wire>) -> Result<Map<String, Value>, Status> {
    fields.into_iter().map(|(key, value)| Ok((key, json(value)?))).collect()
}

/// An integer beyond the wire's 64 signed bits becomes the nearest double, as it does on a server.
fn wire(value: Value) -> Wire {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(flag) => Kind::BoolValue(flag),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => Kind::IntegerValue(integer),
            None => Kind::DoubleValue(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Kind::StringValue(text),
        Value::Array(values) => Kind::ListValue(ListValue { values: values.into_iter().map(wire).collect() }),
        Value::Object(fields) => Kind::StructValue(Struct { fields: wire_payload(Payload(fields)) }),
    };
    Wire { kind: Some(kind) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_payload_comes_back_as_it_was() {
        let value = json!({
            "null": null, "flag": true, "int": i64::MIN, "float": 0.1, "text": "a", "list": [1, [2.5, null]],
            "deep": {"a.b": {"": []}},
        });
        let Value::Object(fields) = value else { unreachable!() };
        let there = wire_payload(Payload(fields.clone()));
        assert_eq!(payload(there).unwrap().0, fields);
    }

    #[test]
    fn a_number_beyond_the_wire_is_the_nearest_double_and_one_that_is_none_is_refused() {
        let there = wire(json!(u64::MAX));
        assert_eq!(there.kind, Some(Kind::DoubleValue(u64::MAX as f64)));
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(json(Wire { kind: Some(Kind::DoubleValue(bad)) }).is_err());
        }
    }
}
