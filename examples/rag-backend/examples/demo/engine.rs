//! The engine of the demo: an OpenAI-compatible server on the loopback that keeps prefixes apart by their salts, and says how
//! much it had. What it answers is what the offline default would.

use rag_backend::{Answerer, OpenAiAnswerer, Step, extract};
use serde_json::Value;
use tenancy_stack::chat::{ChatRequest, FunctionSpec, Message, ModelIdentity, Role, ToolChoice};
use tenancy_testkit::StubEngine;

use crate::Failure;

/// Starts it. It is gone with the first value.
pub(crate) async fn start() -> Result<(StubEngine, Box<dyn Answerer>), Failure> {
    let engine = StubEngine::honours_salts()
        .answers(|messages| {
            match extract(&request(messages.iter().map(|(role, text)| (role.as_str(), text.as_str())))) {
                Step::Answer(answer) => answer,
                Step::Call { .. } => String::new(),
            }
        })
        .calls(|body| {
            let messages = body["messages"].as_array()?.iter();
            let mut request = request(messages.filter_map(|m| Some((m["role"].as_str()?, m["content"].as_str()?))));
            request.tools = functions(body);
            request.tool_choice = ToolChoice::Auto;
            match extract(&request) {
                Step::Call { name, arguments } => Some((name, arguments)),
                Step::Answer(_) => None,
            }
        })
        .start()
        .await;
    let answerer = OpenAiAnswerer::new(&engine.url(), String::new().into(), "quotes")?;
    Ok((engine, Box::new(answerer)))
}

fn request<'m>(messages: impl Iterator<Item = (&'m str, &'m str)>) -> ChatRequest {
    let messages = messages.map(|(role, text)| Message::new(role_of(role), text));
    ChatRequest::new(ModelIdentity { id: String::new(), version: String::new(), adapter: None }, messages.collect())
}

fn functions(body: &Value) -> Vec<FunctionSpec> {
    let functions = body["tools"].as_array().into_iter().flatten();
    let named = functions.filter_map(|tool| tool["function"]["name"].as_str());
    let spec = |name: &str| FunctionSpec {
        name: name.to_owned(),
        version: String::new(),
        description: String::new(),
        parameters: String::new(),
    };
    named.map(spec).collect()
}

fn role_of(name: &str) -> Role {
    match name {
        "system" => Role::System,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        _ => Role::User,
    }
}
