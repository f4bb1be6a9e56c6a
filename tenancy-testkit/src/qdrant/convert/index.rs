//! Indexes on payload keys.

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::payload_index_params::IndexParams;
use qdrant_edge::{PayloadFieldSchema, PayloadSchemaType};
use serde_json::{Value, json};
use tonic::Status;

use super::missing;

/// The engine's schema of an index. Through JSON, which is the engine's own stable face of it.
pub(crate) fn field_schema(
    field_type: Option<i32>,
    params: Option<pb::PayloadIndexParams>,
) -> Result<PayloadFieldSchema, Status> {
    match params.and_then(|params| params.index_params) {
        Some(params) => {
            let mut value = described(params)?;
            if let Value::Object(fields) = &mut value {
                fields.retain(|_, value| !value.is_null());
            }
            serde_json::from_value(value).map_err(|error| Status::invalid_argument(error.to_string()))
        }
        None => {
            let field_type = pb::FieldType::try_from(field_type.ok_or_else(|| missing("the type of the index"))?);
            let field_type = field_type.map_err(|_| Status::invalid_argument("an unknown type of index"))?;
            Ok(PayloadFieldSchema::FieldType(match field_type {
                pb::FieldType::Keyword => PayloadSchemaType::Keyword,
                pb::FieldType::Integer => PayloadSchemaType::Integer,
                pb::FieldType::Float => PayloadSchemaType::Float,
                pb::FieldType::Geo => PayloadSchemaType::Geo,
                pb::FieldType::Text => PayloadSchemaType::Text,
                pb::FieldType::Bool => PayloadSchemaType::Bool,
                pb::FieldType::Datetime => PayloadSchemaType::Datetime,
                pb::FieldType::Uuid => PayloadSchemaType::Uuid,
            }))
        }
    }
}

fn described(params: IndexParams) -> Result<Value, Status> {
    Ok(match params {
        IndexParams::KeywordIndexParams(params) => json!({"type": "keyword", "is_tenant": params.is_tenant}),
        IndexParams::UuidIndexParams(params) => json!({"type": "uuid", "is_tenant": params.is_tenant}),
        IndexParams::IntegerIndexParams(params) => json!({
            "type": "integer",
            "lookup": params.lookup,
            "range": params.range,
            "is_principal": params.is_principal,
        }),
        IndexParams::FloatIndexParams(params) => json!({"type": "float", "is_principal": params.is_principal}),
        IndexParams::DatetimeIndexParams(params) => json!({"type": "datetime", "is_principal": params.is_principal}),
        IndexParams::GeoIndexParams(_) => json!({"type": "geo"}),
        IndexParams::BoolIndexParams(_) => json!({"type": "bool"}),
        IndexParams::TextIndexParams(params) => text(params)?,
    })
}

fn text(params: pb::TextIndexParams) -> Result<Value, Status> {
    use pb::stemming_algorithm::StemmingParams;
    let tokenizer = match pb::TokenizerType::try_from(params.tokenizer) {
        Ok(pb::TokenizerType::Unknown) => None,
        Ok(pb::TokenizerType::Prefix) => Some("prefix"),
        Ok(pb::TokenizerType::Whitespace) => Some("whitespace"),
        Ok(pb::TokenizerType::Word) => Some("word"),
        Ok(pb::TokenizerType::Multilingual) => Some("multilingual"),
        Ok(pb::TokenizerType::Code) => return Err(Status::unimplemented("the engine has no tokenizer for code")),
        Err(_) => return Err(Status::invalid_argument("an unknown tokenizer")),
    };
    let stemmer = match params.stemmer.and_then(|stemmer| stemmer.stemming_params) {
        Some(StemmingParams::Snowball(snowball)) => json!({"type": "snowball", "language": snowball.language}),
        Some(StemmingParams::Disabled(_)) | None => Value::Null,
    };
    let stopwords = params.stopwords.map(|set| json!({"languages": set.languages, "custom": set.custom}));
    Ok(json!({
        "type": "text",
        "tokenizer": tokenizer,
        "min_token_len": params.min_token_len,
        "max_token_len": params.max_token_len,
        "lowercase": params.lowercase,
        "ascii_folding": params.ascii_folding,
        "phrase_matching": params.phrase_matching,
        "stopwords": stopwords,
        "stemmer": stemmer,
    }))
}
