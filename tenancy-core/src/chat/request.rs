//! The chat request and how it is encoded.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Decimal;
use crate::encode::Fields;

/// Everything that shapes an answer, in one value.
///
/// Build it with [`new`](Self::new) and set fields. There is no `Default` and no way to encode a part of it: the cache
/// takes the value that the engine gets, so a parameter can't shape the answer and be missing in the key
/// (LiteLLM 25673 and its relatives).
#[expect(clippy::exhaustive_structs, reason = "a new field must break every place that names them all")]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatRequest {
    /// The resolved model, never a name as the client wrote it.
    pub model: ModelIdentity,
    /// The conversation, system prompt included.
    pub messages: Vec<Message>,
    /// Sampling temperature.
    pub temperature: Option<Decimal>,
    /// Nucleus sampling.
    pub top_p: Option<Decimal>,
    /// Sampling among the k likeliest tokens.
    pub top_k: Option<u32>,
    /// Least relative probability.
    pub min_p: Option<Decimal>,
    /// Penalty on frequency.
    pub frequency_penalty: Option<Decimal>,
    /// Penalty on presence.
    pub presence_penalty: Option<Decimal>,
    /// Penalty on repetition.
    pub repetition_penalty: Option<Decimal>,
    /// Most tokens to generate.
    pub max_tokens: Option<u32>,
    /// How many answers.
    pub n: u32,
    /// Seed of the sampler.
    pub seed: Option<i64>,
    /// Texts at which to stop.
    pub stop: Vec<String>,
    /// Bias by token id, in the order it is sent.
    pub logit_bias: Vec<(u32, Decimal)>,
    /// How many log probabilities to return.
    pub logprobs: Option<u32>,
    /// Functions the model may call, in the order it sees them.
    pub tools: Vec<FunctionSpec>,
    /// Whether and which function to call.
    pub tool_choice: ToolChoice,
    /// Whether several calls at once are allowed.
    pub parallel_tool_calls: Option<bool>,
    /// The form of the answer.
    pub response_format: ResponseFormat,
    /// How long to think, as the engine names it.
    pub reasoning_effort: Option<String>,
}

impl ChatRequest {
    /// A request for one answer with the engine's own settings.
    #[must_use]
    pub const fn new(model: ModelIdentity, messages: Vec<Message>) -> Self {
        Self {
            model,
            messages,
            temperature: None,
            top_p: None,
            top_k: None,
            min_p: None,
            frequency_penalty: None,
            presence_penalty: None,
            repetition_penalty: None,
            max_tokens: None,
            n: 1,
            seed: None,
            stop: Vec::new(),
            logit_bias: Vec::new(),
            logprobs: None,
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            parallel_tool_calls: None,
            response_format: ResponseFormat::Text,
            reasoning_effort: None,
        }
    }

    /// Adds every field to an encoding. The destructuring has no `..`: a new field does not compile until it is here.
    pub fn encode(&self, fields: &mut Fields) {
        let Self {
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
        } = self;
        fields
            .record(1, |f| model.encode(f))
            .list(2, messages, |f, message| message.encode(f))
            .opt_decimal(3, *temperature)
            .opt_decimal(4, *top_p)
            .opt_u64(5, top_k.map(u64::from))
            .opt_decimal(6, *min_p)
            .opt_decimal(7, *frequency_penalty)
            .opt_decimal(8, *presence_penalty)
            .opt_decimal(9, *repetition_penalty)
            .opt_u64(10, max_tokens.map(u64::from))
            .u64(11, u64::from(*n))
            .opt_bytes(12, seed.map(i64::to_le_bytes).as_ref().map(<[u8; 8]>::as_slice))
            .list(13, stop, |f, text| {
                f.text(1, text);
            })
            .list(14, logit_bias, |f, (token, bias)| {
                f.u64(1, u64::from(*token)).opt_decimal(2, Some(*bias));
            })
            .opt_u64(15, logprobs.map(u64::from))
            .list(16, tools, |f, tool| tool.encode(f))
            .record(17, |f| tool_choice.encode(f))
            .opt_u64(18, parallel_tool_calls.map(u64::from))
            .record(19, |f| response_format.encode(f))
            .opt_text(20, reasoning_effort.as_deref());
    }
}

/// A resolved model: its name, its version and the adapter that runs on it.
#[expect(clippy::exhaustive_structs, reason = "a new field must break every place that names them all")]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelIdentity {
    /// The model's id.
    pub id: String,
    /// Its version, a digest of the artifact where there is one.
    pub version: String,
    /// The adapter's weights, by digest: an adapter reloaded under its old name is another model (vLLM 42125).
    pub adapter: Option<WeightDigest>,
}

impl ModelIdentity {
    /// Adds every field to an encoding.
    pub fn encode(&self, fields: &mut Fields) {
        let Self { id, version, adapter } = self;
        fields.text(1, id).text(2, version).opt_bytes(3, adapter.as_ref().map(|d| d.0.as_slice()));
    }
}

/// 32 bytes of a digest over weights.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WeightDigest([u8; 32]);

impl WeightDigest {
    /// Takes the 32 bytes of a digest.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for WeightDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WeightDigest({}..)", data_encoding::HEXLOWER.encode(&self.0[..4]))
    }
}

/// One message.
#[expect(clippy::exhaustive_structs, reason = "a new field must break every place that names them all")]
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: String,
    /// The speaker's name, if the model is told it.
    pub name: Option<String>,
    /// Calls the model made in this message.
    pub tool_calls: Vec<ToolCall>,
    /// The call that this message answers.
    pub tool_call_id: Option<String>,
}

impl Message {
    /// A plain message.
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into(), name: None, tool_calls: Vec::new(), tool_call_id: None }
    }

    fn encode(&self, fields: &mut Fields) {
        let Self { role, content, name, tool_calls, tool_call_id } = self;
        fields
            .u64(1, *role as u64)
            .text(2, content)
            .opt_text(3, name.as_deref())
            .list(4, tool_calls, |f, ToolCall { id, name, arguments }| {
                f.text(1, id).text(2, name).text(3, arguments);
            })
            .opt_text(5, tool_call_id.as_deref());
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Message({:?}, {} bytes)", self.role, self.content.len())
    }
}

/// Who speaks. The numbers are part of keys: append, never renumber.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// The service.
    System = 1,
    /// The user.
    User = 2,
    /// The model.
    Assistant = 3,
    /// A tool's result.
    Tool = 4,
}

/// A call the model made.
#[expect(clippy::exhaustive_structs, reason = "a new field must break every place that names them all")]
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The call's id.
    pub id: String,
    /// The function.
    pub name: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolCall({}, {} bytes)", self.name, self.arguments.len())
    }
}

/// A function the model may call.
#[expect(clippy::exhaustive_structs, reason = "a new field must break every place that names them all")]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionSpec {
    /// Its name.
    pub name: String,
    /// Its version: a changed implementation is another function.
    pub version: String,
    /// What the model reads about it.
    pub description: String,
    /// The JSON schema of its arguments, as the very text that is sent.
    pub parameters: String,
}

impl FunctionSpec {
    fn encode(&self, fields: &mut Fields) {
        let Self { name, version, description, parameters } = self;
        fields.text(1, name).text(2, version).text(3, description).text(4, parameters);
    }
}

/// Whether and which function to call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// None.
    None,
    /// At least one.
    Required,
    /// This one.
    Function(String),
}

impl ToolChoice {
    fn encode(&self, fields: &mut Fields) {
        match self {
            Self::Auto => fields.u64(1, 1),
            Self::None => fields.u64(1, 2),
            Self::Required => fields.u64(1, 3),
            Self::Function(name) => fields.u64(1, 4).text(2, name),
        };
    }
}

/// The form of the answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ResponseFormat {
    /// Free text.
    Text,
    /// Any JSON object.
    Json,
    /// JSON of this schema, as the very text that is sent.
    Schema(String),
}

impl ResponseFormat {
    fn encode(&self, fields: &mut Fields) {
        match self {
            Self::Text => fields.u64(1, 1),
            Self::Json => fields.u64(1, 2),
            Self::Schema(schema) => fields.u64(1, 3).text(2, schema),
        };
    }
}

#[cfg(test)]
mod tests;
