//! The body of a request to an OpenAI-compatible engine.

use std::collections::HashSet;
use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use tenancy_core::chat::{
    ChatRequest, Decimal, FunctionSpec, Message, ModelIdentity, ResponseFormat, Role, ToolCall, ToolChoice,
};

use crate::key::EngineSalt;

/// The body of one request: JSON, written by `serde_json`.
///
/// It is built from the very request that is in the key of the answer, and from the tenant's salt, and has no other field:
/// an allowlist. A client's body with fields taken out would carry the next field that somebody invents, as `cache_salt`,
/// `extra_key`, `prompt_cache_key` and `kv_transfer_params` were, and whoever sets a neighbour's salt reads what it shares.
///
/// Numbers are written digit by digit as in the key, and the schemas of functions and answers as the texts they are. The
/// model's name is [`ModelIdentity::id`]; its version and its adapter's digest are in the salt.
pub struct EngineBody<'r>(Wire<'r>);

impl<'r> EngineBody<'r> {
    /// The body for this request and salt.
    ///
    /// # Errors
    /// [`BodyError`].
    pub fn new(chat: &'r ChatRequest, salt: &'r EngineSalt) -> Result<Self, BodyError> {
        Self::with(chat, Some(salt))
    }

    /// The destructuring has no `..`: a new field does not compile until it is sent, or said not to be.
    pub(crate) fn with(chat: &'r ChatRequest, salt: Option<&'r EngineSalt>) -> Result<Self, BodyError> {
        let ChatRequest {
            model: ModelIdentity { id, version: _, adapter: _ },
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
        } = chat;
        Ok(Self(Wire {
            model: id,
            messages: messages.iter().map(Said::new).collect(),
            temperature: exact(*temperature)?,
            top_p: exact(*top_p)?,
            top_k: *top_k,
            min_p: exact(*min_p)?,
            frequency_penalty: exact(*frequency_penalty)?,
            presence_penalty: exact(*presence_penalty)?,
            repetition_penalty: exact(*repetition_penalty)?,
            max_tokens: *max_tokens,
            n: *n,
            seed: *seed,
            stop,
            logit_bias: Bias::new(logit_bias)?,
            logprobs: logprobs.map(|_| true),
            top_logprobs: *logprobs,
            tools: tools.iter().map(Tool::new).collect::<Result<_, _>>()?,
            tool_choice: choice(tool_choice, !tools.is_empty())?,
            parallel_tool_calls: *parallel_tool_calls,
            response_format: form(response_format)?,
            reasoning_effort: reasoning_effort.as_deref(),
            cache_salt: salt.map(EngineSalt::as_str),
        }))
    }
}

impl Serialize for EngineBody<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl fmt::Debug for EngineBody<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EngineBody(..)")
    }
}

/// Why there is no body for a request. Nothing of the request is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BodyError {
    /// The schema of a function, or of the answer, is not JSON.
    #[error("a schema in the request is not JSON")]
    Schema,
    /// A token has two biases, of which an engine would take either.
    #[error("a token is biased twice")]
    Bias,
    /// The request asks for something that this version does not know how to say.
    #[error("the request asks for what can't be said to the engine")]
    Unknown,
}

/// All that can be sent. Names and meaning as in vLLM, which are OpenAI's and its own for sampling.
#[derive(Serialize)]
struct Wire<'r> {
    model: &'r str,
    messages: Vec<Said<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_p: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repetition_penalty: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    n: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'r [String],
    #[serde(skip_serializing_if = "Bias::is_empty")]
    logit_bias: Bias,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_logprobs: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Form<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_salt: Option<&'r str>,
}

#[derive(Serialize)]
struct Said<'r> {
    role: Role,
    content: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'r str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Called<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'r str>,
}

impl<'r> Said<'r> {
    fn new(message: &'r Message) -> Self {
        let Message { role, content, name, tool_calls, tool_call_id } = message;
        let tool_calls = tool_calls.iter().map(|ToolCall { id, name, arguments }| Called {
            id,
            r#type: FUNCTION,
            function: CalledFunction { name, arguments },
        });
        Self {
            role: *role,
            content,
            name: name.as_deref(),
            tool_calls: tool_calls.collect(),
            tool_call_id: tool_call_id.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct Called<'r> {
    id: &'r str,
    r#type: &'static str,
    function: CalledFunction<'r>,
}

#[derive(Serialize)]
struct CalledFunction<'r> {
    name: &'r str,
    arguments: &'r str,
}

#[derive(Serialize)]
struct Tool<'r> {
    r#type: &'static str,
    function: Function<'r>,
}

#[derive(Serialize)]
struct Function<'r> {
    name: &'r str,
    description: &'r str,
    parameters: &'r RawValue,
}

impl<'r> Tool<'r> {
    /// The version is ours: no engine has a field for it.
    fn new(spec: &'r FunctionSpec) -> Result<Self, BodyError> {
        let FunctionSpec { name, version: _, description, parameters } = spec;
        Ok(Self { r#type: FUNCTION, function: Function { name, description, parameters: json(parameters)? } })
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Choice<'r> {
    Word(&'static str),
    One { r#type: &'static str, function: Named<'r> },
}

#[derive(Serialize)]
struct Named<'r> {
    name: &'r str,
}

/// A choice that is the engine's own is left out: with nothing to choose from, engines refuse to be told.
fn choice(choice: &ToolChoice, among: bool) -> Result<Option<Choice<'_>>, BodyError> {
    Ok(match choice {
        ToolChoice::Auto | ToolChoice::None if !among => None,
        ToolChoice::Auto => Some(Choice::Word("auto")),
        ToolChoice::None => Some(Choice::Word("none")),
        ToolChoice::Required => Some(Choice::Word("required")),
        ToolChoice::Function(name) => Some(Choice::One { r#type: FUNCTION, function: Named { name } }),
        _later => return Err(BodyError::Unknown),
    })
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Form<'r> {
    JsonObject,
    JsonSchema { json_schema: AnswerSchema<'r> },
}

#[derive(Serialize)]
struct AnswerSchema<'r> {
    name: &'static str,
    /// Else a schema is a wish.
    strict: bool,
    schema: &'r RawValue,
}

fn form(form: &ResponseFormat) -> Result<Option<Form<'_>>, BodyError> {
    Ok(match form {
        ResponseFormat::Text => None,
        ResponseFormat::Json => Some(Form::JsonObject),
        ResponseFormat::Schema(text) => {
            let json_schema = AnswerSchema { name: "answer", strict: true, schema: json(text)? };
            Some(Form::JsonSchema { json_schema })
        }
        _later => return Err(BodyError::Unknown),
    })
}

/// By token id, in the order of the request.
struct Bias(Vec<(u32, Box<RawValue>)>);

impl Bias {
    fn new(biases: &[(u32, Decimal)]) -> Result<Self, BodyError> {
        let mut seen = HashSet::new();
        if !biases.iter().all(|(token, _)| seen.insert(token)) {
            return Err(BodyError::Bias);
        }
        biases.iter().map(|(token, bias)| Ok((*token, digits(*bias)?))).collect::<Result<_, _>>().map(Self)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Bias {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (token, bias) in &self.0 {
            map.serialize_entry(token, bias)?;
        }
        map.end()
    }
}

fn exact(number: Option<Decimal>) -> Result<Option<Box<RawValue>>, BodyError> {
    number.map(digits).transpose()
}

/// A decimal prints as a JSON number of the same digits, which floating point would round.
fn digits(number: Decimal) -> Result<Box<RawValue>, BodyError> {
    RawValue::from_string(number.to_string()).map_err(|_| BodyError::Unknown)
}

/// One JSON value and nothing beside it, so a text can't bring fields of its own into the body.
fn json(text: &str) -> Result<&RawValue, BodyError> {
    serde_json::from_str(text).map_err(|_| BodyError::Schema)
}

const FUNCTION: &str = "function";
