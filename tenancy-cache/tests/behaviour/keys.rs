//! Case C3: keys that must differ and keys that must not, pair by pair.

use tenancy_cache::{
    CacheError, CacheKey, EmbeddingParts, KeyParts, Layer, Moment, ResponseParts, RetrievalParts, SemanticParts,
    TenantCaches, ToolParts, canonical_json, derive,
};
use tenancy_core::chat::{
    ChatRequest, Decimal, FunctionSpec, Message, ResponseFormat, Role, ToolCall, ToolChoice, WeightDigest,
};
use tenancy_core::{TenantId, Visibility};

use crate::rig::{World, begin_write};
use crate::samples;

/// Derives at one moment of one tenant, so that the parts alone make the difference.
struct Keys {
    mine: TenantCaches,
    moment: Moment,
}

impl Keys {
    async fn new() -> Self {
        let world = World::new().await;
        let mine = world.of("acme").await;
        let moment = mine.moment(Layer::Response, &[]).await.unwrap();
        Self { mine, moment }
    }

    fn of<P: KeyParts<Key = CacheKey>>(&self, parts: &P) -> CacheKey {
        derive(self.mine.context(), &self.moment, parts).unwrap()
    }

    fn chat(&self, change: impl FnOnce(&mut ChatRequest)) -> CacheKey {
        let mut parts = samples::response();
        change(&mut parts.chat);
        self.of(&parts)
    }

    fn response(&self, change: impl FnOnce(&mut ResponseParts)) -> CacheKey {
        let mut parts = samples::response();
        change(&mut parts);
        self.of(&parts)
    }

    fn retrieval(&self, change: impl FnOnce(&mut RetrievalParts)) -> CacheKey {
        let mut parts = samples::retrieval();
        change(&mut parts);
        self.of(&parts)
    }

    fn embedding(&self, change: impl FnOnce(&mut EmbeddingParts)) -> CacheKey {
        let mut parts = samples::embedding();
        change(&mut parts);
        self.of(&parts)
    }

    fn tool(&self, change: impl FnOnce(&mut ToolParts)) -> CacheKey {
        let mut parts = samples::tool();
        change(&mut parts);
        self.of(&parts)
    }

    fn semantic(&self, change: impl FnOnce(&mut SemanticParts)) -> CacheKey {
        let mut parts = samples::semantic();
        change(&mut parts);
        self.of(&parts)
    }
}

fn decimal(text: &str) -> Option<Decimal> {
    Some(Decimal::parse(text).unwrap())
}

fn function(name: &str) -> FunctionSpec {
    FunctionSpec { name: name.into(), version: "1".into(), description: "d".into(), parameters: "{}".into() }
}

fn user(text: &str) -> Message {
    Message::new(Role::User, text)
}

#[tokio::test]
async fn keys_that_must_differ() {
    let k = Keys::new().await;
    let (said, call) = (
        |a: &str, b: &str| vec![user(a), user(b)],
        |id: &str, name: &str| ToolCall { id: id.into(), name: name.into(), arguments: "{}".into() },
    );
    let pairs = [
        // As listed.
        ("length before bytes", k.chat(|c| c.messages = said("abc", "x")), k.chat(|c| c.messages = said("ab", "cx"))),
        (
            "numbers are fields",
            k.chat(|c| (c.top_k, c.max_tokens) = (Some(1), Some(23))),
            k.chat(|c| (c.top_k, c.max_tokens) = (Some(12), Some(3))),
        ),
        (
            "neighbouring fields",
            k.chat(|c| (c.model.id, c.model.version) = ("org_1".into(), "2345".into())),
            k.chat(|c| (c.model.id, c.model.version) = ("org_12345".into(), String::new())),
        ),
        (
            "absent and empty",
            k.chat(|c| c.reasoning_effort = None),
            k.chat(|c| c.reasoning_effort = Some(String::new())),
        ),
        (
            "empty and default",
            k.chat(|c| c.reasoning_effort = Some(String::new())),
            k.chat(|c| c.reasoning_effort = Some("default".into())),
        ),
        (
            "absent and default",
            k.chat(|c| c.reasoning_effort = None),
            k.chat(|c| c.reasoning_effort = Some("default".into())),
        ),
        ("no normalisation", k.embedding(|p| p.text = "e\u{301}".into()), k.embedding(|p| p.text = "\u{e9}".into())),
        (
            "order of tools",
            k.chat(|c| c.tools = vec![function("a"), function("b")]),
            k.chat(|c| c.tools = vec![function("b"), function("a")]),
        ),
        ("choice of tools", k.chat(|c| c.tool_choice = ToolChoice::Auto), k.chat(|c| c.tool_choice = ToolChoice::None)),
        ("absent and zero", k.chat(|c| c.temperature = None), k.chat(|c| c.temperature = decimal("0"))),
        (
            "digest of the adapter",
            k.chat(|c| c.model.adapter = Some(WeightDigest::new([1; 32]))),
            k.chat(|c| c.model.adapter = Some(WeightDigest::new([2; 32]))),
        ),
        // Their relatives.
        ("presence of an adapter", k.chat(|_| {}), k.chat(|c| c.model.adapter = Some(WeightDigest::new([0; 32])))),
        ("count of a list", k.chat(|c| c.stop = vec![]), k.chat(|c| c.stop = vec![String::new()])),
        ("items of a list", k.chat(|c| c.stop = vec!["ab".into()]), k.chat(|c| c.stop = vec!["a".into(), "b".into()])),
        (
            "end of a list",
            k.response(|p| p.inputs = vec![vec![], vec![1]]),
            k.response(|p| p.inputs = vec![vec![1], vec![]]),
        ),
        ("a separator in a text", k.chat(|c| c.messages = said("a:b", "c")), k.chat(|c| c.messages = said("a", "b:c"))),
        ("a zero byte", k.embedding(|p| p.text = "a\0b".into()), k.embedding(|p| p.text = "a".into())),
        ("a header in a text", k.embedding(|p| p.text = "t".into()), {
            k.embedding(|p| p.text = "\u{2}\0\u{9}\u{1}t".into())
        }),
        ("space at the end", k.embedding(|p| p.text = "lunch".into()), k.embedding(|p| p.text = "lunch ".into())),
        ("letter case", k.embedding(|p| p.text = "Lunch".into()), k.embedding(|p| p.text = "lunch".into())),
        ("look-alikes", k.embedding(|p| p.text = "a".into()), k.embedding(|p| p.text = "\u{430}".into())),
        (
            "absent instruction and an empty one",
            k.embedding(|p| p.instruction = None),
            k.embedding(|p| p.instruction = Some(String::new())),
        ),
        (
            "instruction or text",
            k.embedding(|p| (p.instruction, p.text) = (Some("query: ".into()), "x".into())),
            k.embedding(|p| (p.instruction, p.text) = (None, "query: x".into())),
        ),
        ("who says it", k.chat(|c| c.messages = vec![user("x")]), {
            k.chat(|c| c.messages = vec![Message::new(Role::System, "x")])
        }),
        (
            "one message or two",
            k.chat(|c| c.messages = vec![user("xy")]),
            k.chat(|c| c.messages = vec![user("x"), user("y")]),
        ),
        (
            "fields of a call",
            k.chat(|c| c.messages[1].tool_calls = vec![call("a", "bc")]),
            k.chat(|c| c.messages[1].tool_calls = vec![call("ab", "c")]),
        ),
        ("version of a tool", k.chat(|c| c.tools = vec![function("a")]), {
            k.chat(|c| c.tools = vec![FunctionSpec { version: "2".into(), ..function("a") }])
        }),
        (
            "a tool named like a choice",
            k.chat(|c| c.tool_choice = ToolChoice::Required),
            k.chat(|c| c.tool_choice = ToolChoice::Function("required".into())),
        ),
        ("absent and false", k.chat(|c| c.parallel_tool_calls = None), {
            k.chat(|c| c.parallel_tool_calls = Some(false))
        }),
        ("absent seed and zero", k.chat(|c| c.seed = None), k.chat(|c| c.seed = Some(0))),
        ("sign of a seed", k.chat(|c| c.seed = Some(1)), k.chat(|c| c.seed = Some(-1))),
        ("same number, other field", k.chat(|c| c.top_p = decimal("0.5")), k.chat(|c| c.min_p = decimal("0.5"))),
        ("the last digit", k.chat(|c| c.temperature = decimal("0.1")), k.chat(|c| c.temperature = decimal("0.100001"))),
        (
            "order of a bias",
            k.chat(|c| c.logit_bias = vec![(1, Decimal::from_micros(2)), (3, Decimal::from_micros(4))]),
            k.chat(|c| c.logit_bias = vec![(3, Decimal::from_micros(4)), (1, Decimal::from_micros(2))]),
        ),
        (
            "text or schema",
            k.chat(|c| c.response_format = ResponseFormat::Json),
            k.chat(|c| c.response_format = ResponseFormat::Schema(String::new())),
        ),
        ("how many answers", k.chat(|c| c.n = 1), k.chat(|c| c.n = 2)),
        ("the endpoint", k.response(|_| {}), k.response(|p| p.endpoint = "http://engine/".into())),
        ("who may see it", k.response(|_| {}), k.response(|p| p.visibility = Visibility::Roles)),
        ("the filter", k.retrieval(|_| {}), k.retrieval(|p| p.filter = vec![])),
        ("how many hits", k.retrieval(|p| p.limit = 1), k.retrieval(|p| p.limit = 10)),
        ("query or filter", k.retrieval(|p| (p.query, p.filter) = ("ab".into(), b"c".to_vec())), {
            k.retrieval(|p| (p.query, p.filter) = ("a".into(), b"bc".to_vec()))
        }),
        ("the embedding model", k.retrieval(|_| {}), k.retrieval(|p| p.model.version = "3.2".into())),
        ("dimensions", k.embedding(|p| p.dimensions = 384), k.embedding(|p| p.dimensions = 38)),
        ("what a tool may reach", k.tool(|p| p.scope = b"/a".to_vec()), k.tool(|p| p.scope = b"/a/".to_vec())),
        (
            "an argument's type",
            k.tool(|p| p.arguments = canonical_json(r#"{"n":1}"#).unwrap()),
            k.tool(|p| p.arguments = canonical_json(r#"{"n":"1"}"#).unwrap()),
        ),
        (
            "order in an argument's list",
            k.tool(|p| p.arguments = canonical_json("[1,2]").unwrap()),
            k.tool(|p| p.arguments = canonical_json("[2,1]").unwrap()),
        ),
        (
            "an absent argument and null",
            k.tool(|p| p.arguments = canonical_json("{}").unwrap()),
            k.tool(|p| p.arguments = canonical_json(r#"{"n":null}"#).unwrap()),
        ),
        ("system prompt of a namespace", k.semantic(|_| {}), k.semantic(|p| p.chat.messages[0].content.push('!'))),
        ("tools of a namespace", k.semantic(|_| {}), k.semantic(|p| p.chat.tools = vec![function("a")])),
        ("model that measures distances", k.semantic(|_| {}), k.semantic(|p| p.embedding.version = "9".into())),
        (
            "what was said before the question",
            k.semantic(|p| p.chat.messages.insert(1, user("earlier"))),
            k.semantic(|p| p.chat.messages.insert(1, user("before"))),
        ),
    ];
    for (mechanism, one, two) in pairs {
        assert_ne!(one, two, "{mechanism}");
    }
}

#[tokio::test]
async fn keys_that_must_be_equal() {
    let k = Keys::new().await;
    for (mechanism, one, two) in [
        ("the same parts twice", k.chat(|_| {}), k.chat(|_| {})),
        ("1.0 and 1.00", k.chat(|c| c.temperature = decimal("1.0")), k.chat(|c| c.temperature = decimal("1.00"))),
        ("1 and 1.0", k.chat(|c| c.temperature = decimal("1")), k.chat(|c| c.temperature = decimal("1.0"))),
        ("0 and -0", k.chat(|c| c.temperature = decimal("0")), k.chat(|c| c.temperature = decimal("-0"))),
        (
            "0.1 + 0.2 and 0.3",
            k.chat(|c| c.top_p = Some(Decimal::from_f64(0.1 + 0.2).unwrap())),
            k.chat(|c| c.top_p = decimal("0.3")),
        ),
        (
            "order of an argument's names",
            k.tool(|p| p.arguments = canonical_json(r#"{"a":1,"b":2}"#).unwrap()),
            k.tool(|p| p.arguments = canonical_json(r#"{ "b": 2.0, "a": 1e0 }"#).unwrap()),
        ),
        ("the question of a namespace", k.semantic(|_| {}), {
            k.semantic(|p| p.chat.messages[1].content = "Something else entirely".into())
        }),
    ] {
        assert_eq!(one, two, "{mechanism}");
    }
}

/// The same bytes in every layer, as far as their parts allow.
#[tokio::test]
async fn the_same_bytes_in_two_layers_are_two_keys() {
    let k = Keys::new().await;
    let keys = [
        k.of(&samples::response()),
        k.of(&SemanticParts { inputs: samples::response().inputs, ..samples::semantic() }),
        k.of(&samples::retrieval()),
        k.of(&samples::embedding()),
        k.of(&samples::tool()),
    ];
    for (at, one) in keys.iter().enumerate() {
        for two in &keys[at + 1..] {
            assert_ne!(one, two);
        }
    }
}

#[tokio::test]
async fn two_versions_of_the_documents_are_two_keys() {
    let world = World::new().await;
    let mine = world.of("acme").await;
    let keys = async || {
        let (with, without) =
            (mine.moment(Layer::Response, &[]).await.unwrap(), mine.moment(Layer::Embedding, &[]).await.unwrap());
        (
            derive(mine.context(), &with, &samples::response()).unwrap(),
            derive(mine.context(), &with, &samples::retrieval()).unwrap(),
            derive(mine.context(), &without, &samples::embedding()).unwrap(),
        )
    };
    let before = keys().await;
    assert_eq!(before, keys().await, "no write, no new key");
    begin_write(&world.tenants, mine.context()).await.settle().await.unwrap();
    let after = keys().await;
    assert_ne!(before.0, after.0, "a response follows the documents");
    assert_ne!(before.1, after.1, "so does what a search finds");
    assert_eq!(before.2, after.2, "a text's vector does not");

    let globex = world.of("globex").await;
    let moment = globex.moment(Layer::Response, &[]).await.unwrap();
    let theirs = derive(globex.context(), &moment, &samples::response()).unwrap();
    begin_write(&world.tenants, mine.context()).await.settle().await.unwrap();
    let moment = globex.moment(Layer::Response, &[]).await.unwrap();
    assert_eq!(
        derive(globex.context(), &moment, &samples::response()).unwrap(),
        theirs,
        "a neighbour's write is no matter"
    );
}

#[tokio::test]
async fn a_chat_without_a_question_has_no_namespace() {
    let k = Keys::new().await;
    for (mechanism, messages) in [
        ("nothing said", vec![]),
        ("only the system", vec![Message::new(Role::System, "s")]),
        ("the model spoke last", vec![user("q"), Message::new(Role::Assistant, "a")]),
        ("a tool spoke last", vec![user("q"), Message::new(Role::Tool, "r")]),
    ] {
        let mut parts = samples::semantic();
        parts.chat.messages = messages;
        let outcome = derive(k.mine.context(), &k.moment, &parts);
        assert!(matches!(outcome, Err(CacheError::NoQuestion)), "{mechanism}");
    }
}

#[test]
fn an_empty_tenant_does_not_construct() {
    for name in ["", " ", "null", "default", "a:b", "\u{430}cme"] {
        assert!(TenantId::parse(name).is_err(), "{name:?}");
    }
}
