//! Encodings of random parts: equal for equal parts, and for no others.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tenancy_core::Visibility;
use tenancy_core::chat::{
    ChatRequest, Decimal, FunctionSpec, Message, ModelIdentity, ResponseFormat, Role, ToolCall, ToolChoice,
    WeightDigest,
};
use tenancy_core::{Corpus, CorpusName};
use tenancy_testkit::TestTenants;

use super::*;
use crate::canonical::canonical_json;
use crate::parts::{EmbeddingParts, EngineParts, ResponseParts, RetrievalParts, SemanticParts, ToolParts};

/// Parts of any layer.
#[derive(Debug, PartialEq)]
enum Parts {
    Response(ResponseParts),
    Retrieval(RetrievalParts),
    Embedding(EmbeddingParts),
    Tool(ToolParts),
    Semantic(SemanticParts),
    Engine(EngineParts),
}

impl Parts {
    fn encode(&self, context: &TenantContext) -> Vec<u8> {
        let mut fields = Fields::new();
        match self {
            Self::Response(parts) => encode(&mut fields, &[7; 16], context, parts),
            Self::Retrieval(parts) => encode(&mut fields, &[7; 16], context, parts),
            Self::Embedding(parts) => encode(&mut fields, &[7; 16], context, parts),
            Self::Tool(parts) => encode(&mut fields, &[7; 16], context, parts),
            Self::Semantic(parts) => encode(&mut fields, &[7; 16], context, parts),
            Self::Engine(parts) => encode(&mut fields, &[7; 16], context, parts),
        }
        .unwrap();
        fields.as_bytes().to_vec()
    }

    fn layer(&self) -> Layer {
        match self {
            Self::Response(_) => Layer::Response,
            Self::Retrieval(_) => Layer::Retrieval,
            Self::Embedding(_) => Layer::Embedding,
            Self::Tool(_) => Layer::Tool,
            Self::Semantic(_) => Layer::Semantic,
            Self::Engine(_) => Layer::Engine,
        }
    }
}

/// Random parts of few values, so that they often differ in one place alone, and texts that look like joints.
struct Dice {
    state: u64,
    corpora: [Corpus; 2],
}

impl Dice {
    fn roll(&mut self, faces: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % faces
    }

    /// Usually the first: two of these differ in few fields.
    fn rarely(&mut self) -> bool {
        self.roll(3) == 0
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[if self.rarely() { self.roll(all.len() as u64) as usize } else { 0 }].clone()
    }

    fn text(&mut self) -> String {
        self.one_of(&["", "a", "b", "ab", "aa", "ba", ":", "a:", ":a", "\0", "a\0", "\u{1}\0\u{2}\u{1}"]).to_owned()
    }

    fn bytes(&mut self) -> Vec<u8> {
        self.text().into_bytes()
    }

    fn some<T>(&mut self, make: fn(&mut Self) -> T) -> Option<T> {
        self.rarely().then(|| make(self))
    }

    fn several<T>(&mut self, make: fn(&mut Self) -> T) -> Vec<T> {
        let count = self.one_of(&[0, 1, 2]);
        (0..count).map(|_| make(self)).collect()
    }

    fn number(&mut self) -> u32 {
        self.one_of(&[0, 1, 2, 256])
    }

    fn decimal(&mut self) -> Decimal {
        Decimal::from_micros(i64::from(self.number()))
    }

    fn visibility(&mut self) -> Visibility {
        self.one_of(&[Visibility::Tenant, Visibility::Roles, Visibility::Subject])
    }

    fn model(&mut self) -> ModelIdentity {
        let adapter = self.some(|dice| WeightDigest::new([dice.roll(8) as u8; 32]));
        ModelIdentity { id: self.text(), version: self.text(), adapter }
    }

    fn message(&mut self) -> Message {
        Message {
            role: self.one_of(&[Role::User, Role::System, Role::Assistant, Role::Tool]),
            content: self.text(),
            name: self.some(Self::text),
            tool_calls: self.several(|dice| ToolCall { id: dice.text(), name: dice.text(), arguments: dice.text() }),
            tool_call_id: self.some(Self::text),
        }
    }

    fn function(&mut self) -> FunctionSpec {
        let [name, version, description, parameters] = [(); 4].map(|()| self.text());
        FunctionSpec { name, version, description, parameters }
    }

    fn chat(&mut self) -> ChatRequest {
        ChatRequest {
            model: self.model(),
            messages: self.several(Self::message),
            temperature: self.some(Self::decimal),
            top_p: self.some(Self::decimal),
            top_k: self.some(Self::number),
            min_p: self.some(Self::decimal),
            frequency_penalty: self.some(Self::decimal),
            presence_penalty: self.some(Self::decimal),
            repetition_penalty: self.some(Self::decimal),
            max_tokens: self.some(Self::number),
            n: self.number(),
            seed: self.some(|dice| i64::from(dice.number()) - 1),
            stop: self.several(Self::text),
            logit_bias: self.several(|dice| (dice.number(), dice.decimal())),
            logprobs: self.some(Self::number),
            tools: self.several(Self::function),
            tool_choice: match self.number() {
                0 => ToolChoice::Auto,
                1 => ToolChoice::None,
                2 => ToolChoice::Required,
                _ => ToolChoice::Function(self.text()),
            },
            parallel_tool_calls: self.some(|dice| dice.roll(2) == 0),
            response_format: match self.number() {
                0 => ResponseFormat::Text,
                1 => ResponseFormat::Json,
                _ => ResponseFormat::Schema(self.text()),
            },
            reasoning_effort: self.some(Self::text),
        }
    }

    fn corpora(&mut self) -> Vec<Corpus> {
        self.several(|dice| dice.one_of(&dice.corpora.clone()))
    }

    fn response(&mut self) -> ResponseParts {
        let (chat, endpoint, inputs) = (self.chat(), self.text(), self.several(Self::bytes));
        ResponseParts { chat, endpoint, inputs, corpora: self.corpora(), visibility: self.visibility() }
    }

    fn retrieval(&mut self) -> RetrievalParts {
        RetrievalParts {
            query: self.text(),
            filter: self.bytes(),
            strategy: self.text(),
            limit: self.number(),
            model: self.model(),
            corpora: self.corpora(),
            visibility: self.visibility(),
        }
    }

    fn embedding(&mut self) -> EmbeddingParts {
        EmbeddingParts {
            text: self.text(),
            model: self.model(),
            dimensions: self.number(),
            instruction: self.some(Self::text),
            visibility: self.visibility(),
        }
    }

    fn tool(&mut self) -> ToolParts {
        let arguments = self.one_of(&["{}", "[]", r#"{"a":1}"#, r#"{"a":"1"}"#, r#"{"b":1}"#]);
        ToolParts {
            name: self.text(),
            version: self.text(),
            scope: self.bytes(),
            arguments: canonical_json(arguments).unwrap(),
            corpora: self.corpora(),
            visibility: self.visibility(),
        }
    }

    /// The question is no part of the namespace, so it is the same in all.
    fn semantic(&mut self) -> SemanticParts {
        let mut chat = self.chat();
        chat.messages.push(Message::new(Role::User, "?"));
        SemanticParts {
            chat,
            endpoint: self.text(),
            inputs: self.several(Self::bytes),
            embedding: self.model(),
            dimensions: self.number(),
            instruction: self.some(Self::text),
            corpora: self.corpora(),
            visibility: self.visibility(),
        }
    }

    fn engine(&mut self) -> EngineParts {
        EngineParts { model: self.model(), visibility: self.visibility() }
    }

    fn parts(&mut self) -> Parts {
        match self.roll(6) {
            0 => Parts::Response(self.response()),
            1 => Parts::Retrieval(self.retrieval()),
            2 => Parts::Embedding(self.embedding()),
            3 => Parts::Tool(self.tool()),
            4 => Parts::Semantic(self.semantic()),
            _ => Parts::Engine(self.engine()),
        }
    }
}

#[tokio::test]
async fn no_two_of_more_than_a_million_pairs_have_one_encoding() {
    let tenants = TestTenants::new().await;
    let contexts = [tenants.context("acme").await, tenants.context("globex").await];
    let corpora = ["handbook", "statutes"].map(|name| tenants.realm().corpus(&CorpusName::parse(name).unwrap()));
    let scale: usize = std::env::var("TENANCY_TEST_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut dice = Dice { state: 0x7e5a_11e5, corpora };
    let mut seen: HashMap<Vec<u8>, (usize, Parts)> = HashMap::new();
    let mut again = 0;
    for _ in 0..TRIES * scale {
        let (who, parts) = (dice.roll(2) as usize, dice.parts());
        match seen.entry(parts.encode(&contexts[who])) {
            Entry::Vacant(place) => drop(place.insert((who, parts))),
            Entry::Occupied(other) => {
                assert_eq!(*other.get(), (who, parts), "one encoding");
                again += 1;
            }
        }
    }
    assert!(again > TRIES / 50, "{again} were near enough to be the same");
    let pairs = |count: usize| count * (count - 1) / 2;
    for layer in Layer::ALL {
        let count = seen.values().filter(|(_, parts)| parts.layer() == layer).count();
        assert!(pairs(count) > 1_000_000, "{layer:?}: {count} that differ");
    }
    println!("{} that differ, {} pairs; {again} seen before", seen.len(), pairs(seen.len()));
}

/// Times `TENANCY_TEST_SCALE`.
const TRIES: usize = 120_000;
