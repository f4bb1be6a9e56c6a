//! Case C3: keys that must differ and keys that must not, pair by pair.

use tenancy_cache::{EmbeddingParts, ResponseParts, RetrievalParts, SemanticParts, ToolParts, canonical_json};
use tenancy_core::Visibility;
use tenancy_core::chat::{
    ChatRequest, Decimal, FunctionSpec, Message, ResponseFormat, Role, ToolCall, ToolChoice, WeightDigest,
};

use crate::samples;

/// The parts of a key that names an entry.
pub(crate) enum Parts {
    Response(ResponseParts),
    Retrieval(RetrievalParts),
    Embedding(EmbeddingParts),
    Tool(ToolParts),
    Semantic(SemanticParts),
}

/// What makes the difference, or must make none.
type Pair = (&'static str, Parts, Parts);

pub(crate) fn must_differ() -> Vec<Pair> {
    let (said, call) = (
        |a: &str, b: &str| vec![user(a), user(b)],
        |id: &str, name: &str| ToolCall { id: id.into(), name: name.into(), arguments: "{}".into() },
    );
    vec![
        // As listed.
        ("length before bytes", chat(|c| c.messages = said("abc", "x")), chat(|c| c.messages = said("ab", "cx"))),
        (
            "numbers are fields",
            chat(|c| (c.top_k, c.max_tokens) = (Some(1), Some(23))),
            chat(|c| (c.top_k, c.max_tokens) = (Some(12), Some(3))),
        ),
        (
            "neighbouring fields",
            chat(|c| (c.model.id, c.model.version) = ("org_1".into(), "2345".into())),
            chat(|c| (c.model.id, c.model.version) = ("org_12345".into(), String::new())),
        ),
        ("absent and empty", chat(|c| c.reasoning_effort = None), chat(|c| c.reasoning_effort = Some(String::new()))),
        (
            "empty and default",
            chat(|c| c.reasoning_effort = Some(String::new())),
            chat(|c| c.reasoning_effort = Some("default".into())),
        ),
        (
            "absent and default",
            chat(|c| c.reasoning_effort = None),
            chat(|c| c.reasoning_effort = Some("default".into())),
        ),
        ("no normalisation", embedding(|p| p.text = "e\u{301}".into()), embedding(|p| p.text = "\u{e9}".into())),
        (
            "order of tools",
            chat(|c| c.tools = vec![function("a"), function("b")]),
            chat(|c| c.tools = vec![function("b"), function("a")]),
        ),
        ("choice of tools", chat(|c| c.tool_choice = ToolChoice::Auto), chat(|c| c.tool_choice = ToolChoice::None)),
        ("absent and zero", chat(|c| c.temperature = None), chat(|c| c.temperature = decimal("0"))),
        (
            "digest of the adapter",
            chat(|c| c.model.adapter = Some(WeightDigest::new([1; 32]))),
            chat(|c| c.model.adapter = Some(WeightDigest::new([2; 32]))),
        ),
        // Their relatives.
        ("presence of an adapter", chat(|_| {}), chat(|c| c.model.adapter = Some(WeightDigest::new([0; 32])))),
        ("count of a list", chat(|c| c.stop = vec![]), chat(|c| c.stop = vec![String::new()])),
        ("items of a list", chat(|c| c.stop = vec!["ab".into()]), chat(|c| c.stop = vec!["a".into(), "b".into()])),
        (
            "end of a list",
            response(|p| p.inputs = vec![vec![], vec![1]]),
            response(|p| p.inputs = vec![vec![1], vec![]]),
        ),
        ("a separator in a text", chat(|c| c.messages = said("a:b", "c")), chat(|c| c.messages = said("a", "b:c"))),
        ("a zero byte", embedding(|p| p.text = "a\0b".into()), embedding(|p| p.text = "a".into())),
        ("a header in a text", embedding(|p| p.text = "t".into()), {
            embedding(|p| p.text = "\u{2}\0\u{9}\u{1}t".into())
        }),
        ("space at the end", embedding(|p| p.text = "lunch".into()), embedding(|p| p.text = "lunch ".into())),
        ("letter case", embedding(|p| p.text = "Lunch".into()), embedding(|p| p.text = "lunch".into())),
        ("look-alikes", embedding(|p| p.text = "a".into()), embedding(|p| p.text = "\u{430}".into())),
        (
            "absent instruction and an empty one",
            embedding(|p| p.instruction = None),
            embedding(|p| p.instruction = Some(String::new())),
        ),
        (
            "instruction or text",
            embedding(|p| (p.instruction, p.text) = (Some("query: ".into()), "x".into())),
            embedding(|p| (p.instruction, p.text) = (None, "query: x".into())),
        ),
        ("who says it", chat(|c| c.messages = vec![user("x")]), {
            chat(|c| c.messages = vec![Message::new(Role::System, "x")])
        }),
        (
            "one message or two",
            chat(|c| c.messages = vec![user("xy")]),
            chat(|c| c.messages = vec![user("x"), user("y")]),
        ),
        (
            "fields of a call",
            chat(|c| c.messages[1].tool_calls = vec![call("a", "bc")]),
            chat(|c| c.messages[1].tool_calls = vec![call("ab", "c")]),
        ),
        ("version of a tool", chat(|c| c.tools = vec![function("a")]), {
            chat(|c| c.tools = vec![FunctionSpec { version: "2".into(), ..function("a") }])
        }),
        (
            "a tool named like a choice",
            chat(|c| c.tool_choice = ToolChoice::Required),
            chat(|c| c.tool_choice = ToolChoice::Function("required".into())),
        ),
        ("absent and false", chat(|c| c.parallel_tool_calls = None), { chat(|c| c.parallel_tool_calls = Some(false)) }),
        ("absent seed and zero", chat(|c| c.seed = None), chat(|c| c.seed = Some(0))),
        ("sign of a seed", chat(|c| c.seed = Some(1)), chat(|c| c.seed = Some(-1))),
        ("same number, other field", chat(|c| c.top_p = decimal("0.5")), chat(|c| c.min_p = decimal("0.5"))),
        ("the last digit", chat(|c| c.temperature = decimal("0.1")), chat(|c| c.temperature = decimal("0.100001"))),
        (
            "order of a bias",
            chat(|c| c.logit_bias = vec![(1, Decimal::from_micros(2)), (3, Decimal::from_micros(4))]),
            chat(|c| c.logit_bias = vec![(3, Decimal::from_micros(4)), (1, Decimal::from_micros(2))]),
        ),
        (
            "text or schema",
            chat(|c| c.response_format = ResponseFormat::Json),
            chat(|c| c.response_format = ResponseFormat::Schema(String::new())),
        ),
        ("how many answers", chat(|c| c.n = 1), chat(|c| c.n = 2)),
        ("the endpoint", response(|_| {}), response(|p| p.endpoint = "http://engine/".into())),
        ("who may see it", response(|_| {}), response(|p| p.visibility = Visibility::Roles)),
        ("the filter", retrieval(|_| {}), retrieval(|p| p.filter = vec![])),
        ("how many hits", retrieval(|p| p.limit = 1), retrieval(|p| p.limit = 10)),
        ("query or filter", retrieval(|p| (p.query, p.filter) = ("ab".into(), b"c".to_vec())), {
            retrieval(|p| (p.query, p.filter) = ("a".into(), b"bc".to_vec()))
        }),
        ("the embedding model", retrieval(|_| {}), retrieval(|p| p.model.version = "3.2".into())),
        ("dimensions", embedding(|p| p.dimensions = 384), embedding(|p| p.dimensions = 38)),
        ("what a tool may reach", tool(|p| p.scope = b"/a".to_vec()), tool(|p| p.scope = b"/a/".to_vec())),
        (
            "an argument's type",
            tool(|p| p.arguments = canonical_json(r#"{"n":1}"#).unwrap()),
            tool(|p| p.arguments = canonical_json(r#"{"n":"1"}"#).unwrap()),
        ),
        (
            "order in an argument's list",
            tool(|p| p.arguments = canonical_json("[1,2]").unwrap()),
            tool(|p| p.arguments = canonical_json("[2,1]").unwrap()),
        ),
        (
            "an absent argument and null",
            tool(|p| p.arguments = canonical_json("{}").unwrap()),
            tool(|p| p.arguments = canonical_json(r#"{"n":null}"#).unwrap()),
        ),
        ("system prompt of a namespace", semantic(|_| {}), semantic(|p| p.chat.messages[0].content.push('!'))),
        ("tools of a namespace", semantic(|_| {}), semantic(|p| p.chat.tools = vec![function("a")])),
        ("model that measures distances", semantic(|_| {}), semantic(|p| p.embedding.version = "9".into())),
        (
            "what was said before the question",
            semantic(|p| p.chat.messages.insert(1, user("earlier"))),
            semantic(|p| p.chat.messages.insert(1, user("before"))),
        ),
    ]
}

pub(crate) fn must_be_equal() -> Vec<Pair> {
    vec![
        ("the same parts twice", chat(|_| {}), chat(|_| {})),
        ("1.0 and 1.00", chat(|c| c.temperature = decimal("1.0")), chat(|c| c.temperature = decimal("1.00"))),
        ("1 and 1.0", chat(|c| c.temperature = decimal("1")), chat(|c| c.temperature = decimal("1.0"))),
        ("0 and -0", chat(|c| c.temperature = decimal("0")), chat(|c| c.temperature = decimal("-0"))),
        (
            "0.1 + 0.2 and 0.3",
            chat(|c| c.top_p = Some(Decimal::from_f64(0.1 + 0.2).unwrap())),
            chat(|c| c.top_p = decimal("0.3")),
        ),
        (
            "order of an argument's names",
            tool(|p| p.arguments = canonical_json(r#"{"a":1,"b":2}"#).unwrap()),
            tool(|p| p.arguments = canonical_json(r#"{ "b": 2.0, "a": 1e0 }"#).unwrap()),
        ),
        ("the question of a namespace", semantic(|_| {}), {
            semantic(|p| p.chat.messages[1].content = "Something else entirely".into())
        }),
    ]
}

fn chat(change: impl FnOnce(&mut ChatRequest)) -> Parts {
    let mut parts = samples::response();
    change(&mut parts.chat);
    Parts::Response(parts)
}

fn response(change: impl FnOnce(&mut ResponseParts)) -> Parts {
    let mut parts = samples::response();
    change(&mut parts);
    Parts::Response(parts)
}

fn retrieval(change: impl FnOnce(&mut RetrievalParts)) -> Parts {
    let mut parts = samples::retrieval();
    change(&mut parts);
    Parts::Retrieval(parts)
}

fn embedding(change: impl FnOnce(&mut EmbeddingParts)) -> Parts {
    let mut parts = samples::embedding();
    change(&mut parts);
    Parts::Embedding(parts)
}

fn tool(change: impl FnOnce(&mut ToolParts)) -> Parts {
    let mut parts = samples::tool();
    change(&mut parts);
    Parts::Tool(parts)
}

fn semantic(change: impl FnOnce(&mut SemanticParts)) -> Parts {
    let mut parts = samples::semantic();
    change(&mut parts);
    Parts::Semantic(parts)
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
