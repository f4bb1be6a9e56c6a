//! Any one field makes the key, and only what differs makes it differ.
//!
//! For two random values each field of the one is replaced by that of the other, one at a time: the key changes exactly
//! when the field did. The list of fields is a destructuring without `..`, so a new field does not compile until it is
//! here, and one of a new struct is missed by `declared`.

mod declared;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use tenancy_cache::{
    CanonicalJson, EmbeddingParts, EngineParts, KeyParts, Layer, Moment, ResponseParts, RetrievalParts, SemanticParts,
    ToolParts, canonical_json, derive,
};
use tenancy_core::chat::{
    ChatRequest, Decimal, FunctionSpec, Message, ModelIdentity, ResponseFormat, Role, ToolCall, ToolChoice,
    WeightDigest,
};
use tenancy_core::{Corpus, CorpusName, TenantContext, Visibility};
use tenancy_testkit::TestTenants;

use crate::rig::World;

/// One value changed in one field: the field's name and whether it is still equal.
type Variants<T> = Vec<(String, bool, T)>;

macro_rules! variants {
    ($name:ident, $type:ident { $($field:ident),+ $(,)? } $(, $inner:ident: $by:ident)* $(,)?) => {
        fn $name(base: &$type, other: &$type) -> Variants<$type> {
            let $type { $($field: _),+ } = base;
            let own = vec![$((
                stringify!($field).to_owned(),
                base.$field == other.$field,
                $type { $field: other.$field.clone(), ..base.clone() },
            )),+];
            let nested = [own, $($by(&base.$inner, &other.$inner).into_iter().map(|(field, same, inner)| {
                (format!("{}.{field}", stringify!($inner)), same, $type { $inner: inner, ..base.clone() })
            }).collect()),*];
            nested.concat()
        }
    };
}

/// The variants of a list's first item.
fn first<T: Clone>(base: &[T], other: &[T], by: fn(&T, &T) -> Variants<T>) -> Variants<Vec<T>> {
    let (Some(a), Some(b)) = (base.first(), other.first()) else { return Vec::new() };
    let with = |item: T| [&[item], &base[1..]].concat();
    by(a, b).into_iter().map(|(field, same, item)| (format!("0.{field}"), same, with(item))).collect()
}

fn messages(base: &[Message], other: &[Message]) -> Variants<Vec<Message>> {
    first(base, other, message)
}

fn tools(base: &[FunctionSpec], other: &[FunctionSpec]) -> Variants<Vec<FunctionSpec>> {
    first(base, other, function)
}

fn calls(base: &[ToolCall], other: &[ToolCall]) -> Variants<Vec<ToolCall>> {
    first(base, other, call)
}

variants!(call, ToolCall { id, name, arguments });
variants!(message, Message { role, content, name, tool_calls, tool_call_id }, tool_calls: calls);
variants!(function, FunctionSpec { name, version, description, parameters });
variants!(model, ModelIdentity { id, version, adapter });
variants!(
    chat,
    ChatRequest {
        model, messages, temperature, top_p, top_k, min_p, frequency_penalty, presence_penalty, repetition_penalty,
        max_tokens, n, seed, stop, logit_bias, logprobs, tools, tool_choice, parallel_tool_calls, response_format,
        reasoning_effort,
    },
    model: model, messages: messages, tools: tools,
);
variants!(response, ResponseParts { chat, endpoint, inputs, corpora, visibility }, chat: chat);
variants!(retrieval, RetrievalParts { query, filter, strategy, limit, model, corpora, visibility }, model: model);
variants!(embedding, EmbeddingParts { text, model, dimensions, instruction, visibility }, model: model);
variants!(tool, ToolParts { name, version, scope, arguments, corpora, visibility });
variants!(
    semantic,
    SemanticParts { chat, endpoint, inputs, embedding, dimensions, instruction, corpora, visibility },
    chat: chat, embedding: model,
);
variants!(engine, EngineParts { model, visibility }, model: model);

/// Few values each, so that two random ones are often equal, and texts that look like joints.
fn text() -> impl Strategy<Value = String> {
    "[ab:]{0,2}"
}

fn number() -> impl Strategy<Value = Option<Decimal>> {
    of((0i64..3).prop_map(Decimal::from_micros))
}

fn visibility() -> impl Strategy<Value = Visibility> {
    prop_oneof![Just(Visibility::Subject), Just(Visibility::Roles), Just(Visibility::Tenant)]
}

fn model_identity() -> impl Strategy<Value = ModelIdentity> {
    let adapter = of((0u8..2).prop_map(|byte| WeightDigest::new([byte; 32])));
    (text(), text(), adapter).prop_map(|(id, version, adapter)| ModelIdentity { id, version, adapter })
}

fn any_message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![Just(Role::System), Just(Role::User), Just(Role::Assistant), Just(Role::Tool)];
    let call = (text(), text(), text()).prop_map(|(id, name, arguments)| ToolCall { id, name, arguments });
    (role, text(), of(text()), vec(call, 0..2), of(text())).prop_map(
        |(role, content, name, tool_calls, tool_call_id)| Message { role, content, name, tool_calls, tool_call_id },
    )
}

fn any_chat() -> impl Strategy<Value = ChatRequest> {
    let function = (text(), text(), text(), text()).prop_map(|(name, version, description, parameters)| FunctionSpec {
        name,
        version,
        description,
        parameters,
    });
    let tool_choice = prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::None),
        Just(ToolChoice::Required),
        text().prop_map(ToolChoice::Function),
    ];
    let response_format =
        prop_oneof![Just(ResponseFormat::Text), Just(ResponseFormat::Json), text().prop_map(ResponseFormat::Schema)];
    let sampling = (number(), number(), of(0u32..2), number(), number(), number(), number(), of(0u32..2));
    let output = (1u32..3, of(-1i64..2), vec(text(), 0..2), vec((0u32..2, 0i64..2), 0..2), of(0u32..2));
    let form = (tool_choice, of(any::<bool>()), response_format, of(text()));
    (model_identity(), vec(any_message(), 0..3), vec(function, 0..2), sampling, output, form).prop_map(
        |(model, messages, tools, sampling, output, form)| {
            let (temperature, top_p, top_k, min_p, frequency_penalty, presence_penalty, repetition_penalty, max_tokens) =
                sampling;
            let (n, seed, stop, bias, logprobs) = output;
            let (tool_choice, parallel_tool_calls, response_format, reasoning_effort) = form;
            let logit_bias = bias.into_iter().map(|(token, micros)| (token, Decimal::from_micros(micros))).collect();
            ChatRequest {
                model,
                messages,
                temperature,
                top_p,
                top_k,
                min_p,
                frequency_penalty,
                presence_penalty,
                repetition_penalty,
                max_tokens,
                n,
                seed,
                stop,
                logit_bias,
                logprobs,
                tools,
                tool_choice,
                parallel_tool_calls,
                response_format,
                reasoning_effort,
            }
        },
    )
}

fn arguments() -> impl Strategy<Value = CanonicalJson> {
    prop_oneof![Just("{}"), Just("[]"), Just(r#"{"a":1}"#), Just(r#"{"a":"1"}"#)]
        .prop_map(|text| canonical_json(text).unwrap())
}

fn corpora() -> impl Strategy<Value = Vec<Corpus>> {
    vec(prop_oneof![Just("handbook"), Just("statutes")], 0..3)
        .prop_map(|names| names.into_iter().map(|name| shared(&HERE.2, name)).collect())
}

fn shared(tenants: &TestTenants, name: &str) -> Corpus {
    tenants.realm().corpus(&CorpusName::parse(name).unwrap())
}

fn inputs() -> impl Strategy<Value = Vec<Vec<u8>>> {
    vec(vec(0u8..2, 0..2), 0..3)
}

prop_compose! {
    fn any_response()(chat in any_chat(), endpoint in text(), inputs in inputs(), corpora in corpora(), visibility in visibility())
        -> ResponseParts { ResponseParts { chat, endpoint, inputs, corpora, visibility } }
}

prop_compose! {
    fn any_retrieval()(query in text(), filter in vec(0u8..2, 0..2), strategy in text(), limit in 0u32..2,
        model in model_identity(), corpora in corpora(), visibility in visibility())
        -> RetrievalParts { RetrievalParts { query, filter, strategy, limit, model, corpora, visibility } }
}

prop_compose! {
    fn any_embedding()(text in text(), model in model_identity(), dimensions in 0u32..2, instruction in of(text()),
        visibility in visibility())
        -> EmbeddingParts { EmbeddingParts { text, model, dimensions, instruction, visibility } }
}

prop_compose! {
    fn any_tool()(name in text(), version in text(), scope in vec(0u8..2, 0..2), arguments in arguments(),
        corpora in corpora(), visibility in visibility())
        -> ToolParts { ToolParts { name, version, scope, arguments, corpora, visibility } }
}

prop_compose! {
    fn any_semantic()(mut chat in any_chat(), question in text(), endpoint in text(), inputs in inputs(),
        embedding in model_identity(), dimensions in 0u32..2, instruction in of(text()),
        corpora in corpora(), visibility in visibility())
        -> SemanticParts
    {
        chat.messages.push(Message::new(Role::User, question));
        SemanticParts { chat, endpoint, inputs, embedding, dimensions, instruction, corpora, visibility }
    }
}

prop_compose! {
    fn any_engine()(model in model_identity(), visibility in visibility()) -> EngineParts {
        EngineParts { model, visibility }
    }
}

/// One tenant at one moment, for all properties: its clock stands still.
static HERE: LazyLock<(TenantContext, Moment, TestTenants)> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let tenants = TestTenants::builder().clock().build().await;
        let world = World::over(tenants, std::sync::Arc::default(), tenancy_cache::CacheSettings::new());
        let mine = world.of("acme").await;
        let corpora = ["handbook", "statutes"].map(|name| shared(&world.tenants, name));
        let moment = mine.moment(Layer::Response, &corpora).await.unwrap();
        (mine.context().clone(), moment, world.tenants)
    })
});

fn key<P: KeyParts>(parts: &P) -> P::Key {
    derive(&HERE.0, &HERE.1, parts).unwrap_or_else(|e| panic!("a key: {e}"))
}

/// The names of the fields that differed, each of which made another key.
type Changed = Result<BTreeSet<String>, TestCaseError>;

fn each_field_counts<P: KeyParts<Key: PartialEq> + PartialEq>(base: &P, other: &P, variants: Variants<P>) -> Changed {
    prop_assert_eq!(key(base) == key(other), base == other, "as a whole");
    let mut changed = BTreeSet::new();
    for (field, same, variant) in variants {
        prop_assert_eq!(key(base) == key(&variant), same, "{}", field);
        changed.extend((!same).then_some(field));
    }
    Ok(changed)
}

/// A semantic namespace without the question, in which two chats may differ.
fn without_question(parts: &SemanticParts) -> SemanticParts {
    let mut parts = parts.clone();
    if let Some(question) = parts.chat.messages.last_mut() {
        question.content.clear();
    }
    parts
}

fn each_field_of_a_namespace_counts(base: &SemanticParts, other: &SemanticParts) -> Changed {
    let blank = without_question(base);
    prop_assert_eq!(key(base) == key(other), blank == without_question(other), "as a whole");
    let mut changed = BTreeSet::new();
    for (field, same, variant) in semantic(base, other) {
        let asks = variant.chat.messages.last().is_some_and(|message| message.role == Role::User);
        if asks {
            prop_assert_eq!(key(base) == key(&variant), blank == without_question(&variant), "{}", field);
            changed.extend((!same).then_some(field));
        }
    }
    Ok(changed)
}

proptest! {
    #[test]
    fn response_keys(base in any_response(), other in any_response()) {
        each_field_counts(&base, &other, response(&base, &other))?;
    }

    #[test]
    fn retrieval_keys(base in any_retrieval(), other in any_retrieval()) {
        each_field_counts(&base, &other, retrieval(&base, &other))?;
    }

    #[test]
    fn embedding_keys(base in any_embedding(), other in any_embedding()) {
        each_field_counts(&base, &other, embedding(&base, &other))?;
    }

    #[test]
    fn tool_keys(base in any_tool(), other in any_tool()) {
        each_field_counts(&base, &other, tool(&base, &other))?;
    }

    #[test]
    fn semantic_namespaces(base in any_semantic(), other in any_semantic()) {
        each_field_of_a_namespace_counts(&base, &other)?;
    }

    #[test]
    fn engine_salts(base in any_engine(), other in any_engine()) {
        each_field_counts(&base, &other, engine(&base, &other))?;
    }
}
