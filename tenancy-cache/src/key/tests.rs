use tenancy_core::Visibility;
use tenancy_core::chat::{
    ChatRequest, Decimal, FunctionSpec, Message, ModelIdentity, ResponseFormat, Role, ToolCall, ToolChoice,
    WeightDigest,
};
use tenancy_testkit::TestTenants;

use super::*;
use crate::canonical::canonical_json;
use crate::parts::sealed::Encode;
use crate::parts::{EmbeddingParts, EngineParts, ResponseParts, RetrievalParts, SemanticParts, ToolParts};

/// Length and FNV-1a of an encoding. It guards against an unmeant change, nothing else, so any hash will do.
fn pin(fields: &Fields) -> (usize, u64) {
    let hash = fields
        .as_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    (fields.as_bytes().len(), hash)
}

fn pin_parts(parts: &impl Encode) -> (usize, u64) {
    let mut fields = Fields::new();
    parts.encode(&mut fields).unwrap();
    pin(&fields)
}

fn encoded(realm: u8, context: &TenantContext, parts: &EngineParts) -> Fields {
    let mut fields = Fields::new();
    encode(&mut fields, &[realm; 16], context, parts).unwrap();
    fields
}

fn model() -> ModelIdentity {
    ModelIdentity { id: "m".into(), version: "1".into(), adapter: Some(WeightDigest::new([9; 32])) }
}

/// Every field has a value that shows.
fn chat() -> ChatRequest {
    let decimal = |text| Some(Decimal::parse(text).unwrap());
    ChatRequest {
        model: model(),
        messages: vec![
            Message { name: Some("n".into()), ..Message::new(Role::System, "s") },
            Message {
                tool_calls: vec![ToolCall { id: "i".into(), name: "f".into(), arguments: "{}".into() }],
                tool_call_id: Some("t".into()),
                ..Message::new(Role::User, "u")
            },
        ],
        temperature: decimal("0.1"),
        top_p: decimal("0.2"),
        top_k: Some(3),
        min_p: decimal("0.4"),
        frequency_penalty: decimal("0.5"),
        presence_penalty: decimal("0.6"),
        repetition_penalty: decimal("0.7"),
        max_tokens: Some(8),
        n: 9,
        seed: Some(10),
        stop: vec!["stop".into()],
        logit_bias: vec![(12, Decimal::from_micros(13))],
        logprobs: Some(14),
        tools: vec![FunctionSpec {
            name: "f".into(),
            version: "1".into(),
            description: "d".into(),
            parameters: "{}".into(),
        }],
        tool_choice: ToolChoice::Function("f".into()),
        parallel_tool_calls: Some(true),
        response_format: ResponseFormat::Schema("{}".into()),
        reasoning_effort: Some("low".into()),
    }
}

/// A change here makes every kept entry unfindable. If it is meant, change `KEY_SCHEMA` with it.
#[test]
fn the_encodings_of_all_layers_are_pinned() {
    let (inputs, visibility) = (vec![vec![1], vec![]], Visibility::Tenant);
    let pinned = [
        pin_parts(&ResponseParts {
            chat: chat(),
            endpoint: "e".into(),
            inputs: inputs.clone(),
            corpora: Vec::new(),
            visibility,
        }),
        pin_parts(&RetrievalParts {
            query: "q".into(),
            filter: vec![1],
            strategy: "dense".into(),
            limit: 5,
            model: model(),
            corpora: Vec::new(),
            visibility,
        }),
        pin_parts(&EmbeddingParts {
            text: "t".into(),
            model: model(),
            dimensions: 384,
            instruction: Some("query: ".into()),
            visibility,
        }),
        pin_parts(&ToolParts {
            name: "t".into(),
            version: "1".into(),
            scope: vec![1],
            arguments: canonical_json(r#"{"b":1,"a":2}"#).unwrap(),
            corpora: Vec::new(),
            visibility,
        }),
        pin_parts(&SemanticParts {
            chat: chat(),
            endpoint: "e".into(),
            inputs,
            embedding: model(),
            dimensions: 384,
            instruction: None,
            corpora: Vec::new(),
            visibility,
        }),
        pin_parts(&EngineParts { model: model(), visibility }),
    ];
    assert_eq!(pinned, PINNED);
}

#[tokio::test]
async fn the_head_of_every_key_is_pinned() {
    let tenants = TestTenants::new().await;
    let context = tenants.context("acme").await;
    let parts = EngineParts { model: model(), visibility: Visibility::Subject };
    let encoded = encoded(7, &context, &parts);
    let life = *context.life().uuid().as_bytes();
    let at = encoded.as_bytes().windows(16).position(|window| window == life).unwrap();
    let mut bytes = encoded.as_bytes().to_vec();
    bytes[at..at + 16].fill(0);
    let (rest, corpora) = bytes.split_at(bytes.len() - NO_CORPORA);
    assert_eq!(data_encoding::HEXLOWER.encode(corpora), concat!("07000801", "0800000000000000", "0000000000000000"));
    assert_eq!(
        data_encoding::HEXLOWER.encode(&rest[..rest.len() - ENGINE_PARTS]),
        concat!(
            "01000301",
            "0800000000000000",
            "0300000000000000",
            "02000101",
            "1000000000000000",
            "07070707070707070707070707070707",
            "03000601",
            "1000000000000000",
            "00000000000000000000000000000000",
            "04000301",
            "0800000000000000",
            "0600000000000000",
            "05000901",
            "4700000000000000",
            "01000301",
            "0800000000000000",
            "0300000000000000",
            "03000201",
            "1200000000000000",
            "68747470733a2f2f6c6f67696e2e74657374",
            "04000201",
            "0900000000000000",
            "757365724061636d65",
        )
    );
}

/// What a value is sealed to. A change here makes every kept value one that does not open, which is on record.
#[tokio::test]
async fn the_place_of_a_value_is_pinned() {
    let tenants = TestTenants::new().await;
    let digest = tenants.context("acme").await.derive::<purpose::CacheKey>(&Fields::new()).unwrap();
    let place = CacheKey::new(Layer::Tool, digest, Epoch::from_bytes([7; 16])).place();
    let expected = concat!(
        "01000101",
        "2000000000000000",
        "DIGEST",
        "02000301",
        "0800000000000000",
        "0400000000000000",
        "03000301",
        "0800000000000000",
        "0300000000000000",
        "04000101",
        "1000000000000000",
        "07070707070707070707070707070707",
    );
    let digest = data_encoding::HEXLOWER.encode(digest.as_bytes());
    assert_eq!(data_encoding::HEXLOWER.encode(place.as_bytes()), expected.replace("DIGEST", &digest));
}

#[tokio::test]
async fn a_life_that_is_the_same_uuid_in_another_realm_has_other_keys() {
    let tenants = TestTenants::new().await;
    let context = tenants.context("acme").await;
    let parts = EngineParts { model: model(), visibility: Visibility::Tenant };
    let one = encoded(1, &context, &parts);
    let two = encoded(2, &context, &parts);
    assert_ne!(one.as_bytes(), two.as_bytes());
}

#[tokio::test]
async fn keys_and_salts_show_nothing() {
    let tenants = TestTenants::new().await;
    let context = tenants.context("acme").await;
    let digest = context.derive::<purpose::CacheKey>(&Fields::new()).unwrap();
    let key = CacheKey::new(Layer::Response, digest, Epoch::from_bytes([7; 16]));
    assert_eq!(format!("{key:?}"), "CacheKey(..)");
    let salt = EngineSalt::new(&context.derive(&Fields::new()).unwrap());
    assert_eq!(format!("{salt:?}"), "EngineSalt(..)");
}

const PINNED: [(usize, u64); 6] = [
    (979, 4_129_840_022_687_146_441),
    (145, 2_221_207_087_188_216_525),
    (134, 11_159_318_734_316_362_506),
    (64, 8_600_545_727_089_075_028),
    (1092, 4_107_392_071_743_280_294),
    (82, 4_412_887_725_229_585_240),
];

/// Two record headers, two texts of one byte and a digest.
const ENGINE_PARTS: usize = 12 + 12 + 13 + 13 + 44;
const NO_CORPORA: usize = 12 + 8;
