//! Passages into an answer: an OpenAI-compatible model, or an offline default that quotes.

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tenancy_stack::cache::EngineSalt;
use tenancy_stack::cache::engine::EngineBody;
use tenancy_stack::chat::{ChatRequest, ModelIdentity, Role, ToolChoice};

use crate::embed::{stem, words};
use crate::http::{HttpClient, UpstreamError};

/// Answers chat requests.
#[async_trait]
pub trait Answerer: Send + Sync + 'static {
    /// The model that answers. Resolved by the service, never taken from a request.
    fn model(&self) -> ModelIdentity;

    /// Where it answers, for cache keys.
    fn endpoint(&self) -> &str;

    /// The next step: an answer, or a call of one of the request's tools. The salt keeps the tenant's prefixes apart where the
    /// engine keeps any. Dropped: nothing is kept.
    ///
    /// # Errors
    /// [`UpstreamError`] when a service does not answer as it should.
    async fn step(&self, request: &ChatRequest, salt: &EngineSalt) -> Result<Reply, UpstreamError>;
}

/// A step, and what the engine says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "who answers says both")]
pub struct Reply {
    /// The step.
    pub step: Step,
    /// How many tokens of the prompt the engine had in its prefix cache, if it says so.
    pub cached_tokens: Option<u64>,
}

impl From<Step> for Reply {
    fn from(step: Step) -> Self {
        Self { step, cached_tokens: None }
    }
}

/// What a model wants next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::exhaustive_enums, reason = "a loop must deal with each")]
pub enum Step {
    /// This is the answer.
    Answer(String),
    /// Call this tool with these arguments, as the model wrote them.
    Call {
        /// The tool.
        name: String,
        /// The arguments, JSON text.
        arguments: String,
    },
}

/// The passages of a prompt, in a form that both kinds of answerers read.
#[must_use]
pub(crate) fn prompt_of(passages: &[(String, String)]) -> String {
    let mut prompt = String::from(
        "Answer from the passages below and from nothing else. Give the number of each passage you used in brackets.\n",
    );
    for (number, (document, passage)) in (1..).zip(passages) {
        prompt.push_str(&format!("\n[{number}] ({document}) {}\n", passage.replace('\n', " ")));
    }
    prompt
}

/// The offline default: quotes the sentence of the passages that shares most words with the question.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it has no settings")]
pub struct Extractive;

#[async_trait]
impl Answerer for Extractive {
    fn model(&self) -> ModelIdentity {
        ModelIdentity { id: "extractive".to_owned(), version: "1".to_owned(), adapter: None }
    }

    fn endpoint(&self) -> &str {
        "offline"
    }

    async fn step(&self, request: &ChatRequest, _: &EngineSalt) -> Result<Reply, UpstreamError> {
        Ok(extract(request).into())
    }
}

/// What the offline default does with a request.
#[must_use]
pub fn extract(request: &ChatRequest) -> Step {
    let last = request.messages.iter().rev().find(|m| m.role == Role::User);
    let question = last.map(|m| m.content.as_str()).unwrap_or_default();
    if let Some(result) = request.messages.iter().rev().find(|m| m.role == Role::Tool) {
        return Step::Answer(result.content.clone());
    }
    if request.tool_choice != ToolChoice::None && !request.tools.is_empty() {
        return plan(question);
    }
    let prompt = request.messages.iter().find(|m| m.role == Role::System);
    Step::Answer(quote(question, prompt.map(|m| m.content.as_str()).unwrap_or_default()))
}

/// A plan without a model: a task that names a file reads it, any other searches.
fn plan(task: &str) -> Step {
    let file = task
        .split_whitespace()
        .map(|word| word.trim_matches(['"', '\'', '`', ',', '?']))
        .find(|word| word.contains('.') && word.trim_end_matches('.').contains('.') || word.contains('/'));
    match file {
        Some(path) => Step::Call { name: "read_file".to_owned(), arguments: json!({ "path": path }).to_string() },
        None => Step::Call { name: "search_documents".to_owned(), arguments: json!({ "query": task }).to_string() },
    }
}

fn quote(question: &str, prompt: &str) -> String {
    let asked: Vec<String> = words(question).map(|word| stem(&word).to_owned()).collect();
    let mut best: Option<(usize, &str, &str)> = None;
    for line in prompt.lines() {
        let Some((number, text)) = line.strip_prefix('[').and_then(|rest| rest.split_once("] (")) else { continue };
        let Some((_, passage)) = text.split_once(") ") else { continue };
        for sentence in sentences(passage) {
            let said: Vec<String> = words(sentence).map(|word| stem(&word).to_owned()).collect();
            let shared = asked.iter().filter(|word| said.contains(word)).count();
            if best.is_none_or(|(most, ..)| shared > most) {
                best = Some((shared, number, sentence));
            }
        }
    }
    match best {
        Some((shared, number, sentence)) if shared > 0 => format!("{sentence} [{number}]"),
        _ => "The documents do not say.".to_owned(),
    }
}

/// Splits a passage into sentences.
fn sentences(passage: &str) -> impl Iterator<Item = &str> {
    passage.split_inclusive(['.', '!', '?']).map(str::trim).filter(|sentence| !sentence.is_empty())
}

/// An OpenAI-compatible engine that takes a `cache_salt`, as vLLM does. The body is built from the request that is in the key
/// of its answer, and from the tenant's salt; nothing of a client's body is passed on.
#[derive(Debug)]
pub struct OpenAiAnswerer {
    client: HttpClient,
    url: String,
    key: SecretString,
    model: String,
}

impl OpenAiAnswerer {
    /// The service at `base` (`https://host/v1`) with a model.
    ///
    /// # Errors
    /// [`UpstreamError`] when no client can be made.
    pub fn new(base: &str, key: SecretString, model: &str) -> Result<Self, UpstreamError> {
        let url = format!("{}/chat/completions", base.trim_end_matches('/'));
        Ok(Self { client: HttpClient::new()?, url, key, model: model.to_owned() })
    }
}

#[async_trait]
impl Answerer for OpenAiAnswerer {
    fn model(&self) -> ModelIdentity {
        ModelIdentity { id: self.model.clone(), version: "service".to_owned(), adapter: None }
    }

    fn endpoint(&self) -> &str {
        &self.url
    }

    async fn step(&self, request: &ChatRequest, salt: &EngineSalt) -> Result<Reply, UpstreamError> {
        #[derive(Deserialize)]
        struct Completion {
            choices: Vec<Choice>,
            usage: Option<Usage>,
        }
        #[derive(Deserialize)]
        struct Usage {
            prompt_tokens_details: Option<Details>,
        }
        #[derive(Deserialize)]
        struct Details {
            cached_tokens: Option<u64>,
        }
        #[derive(Deserialize)]
        struct Choice {
            message: Said,
        }
        #[derive(Deserialize)]
        struct Said {
            content: Option<String>,
            #[serde(default)]
            tool_calls: Vec<Called>,
        }
        #[derive(Deserialize)]
        struct Called {
            function: Function,
        }
        #[derive(Deserialize)]
        struct Function {
            name: String,
            arguments: String,
        }
        let body = EngineBody::new(request, salt).map_err(|_| UpstreamError::Request)?;
        let Completion { choices, usage } = self.client.post(&self.url, self.key.expose_secret(), &body).await?;
        let said = choices.into_iter().next().ok_or(UpstreamError::Answer)?.message;
        let step = match said.tool_calls.into_iter().next() {
            Some(Called { function: Function { name, arguments } }) => Step::Call { name, arguments },
            None => said.content.map(Step::Answer).ok_or(UpstreamError::Answer)?,
        };
        let cached_tokens = usage.and_then(|usage| usage.prompt_tokens_details).and_then(|of| of.cached_tokens);
        Ok(Reply { step, cached_tokens })
    }
}

#[cfg(test)]
mod tests {
    use tenancy_stack::chat::Message;

    use super::*;

    #[test]
    fn the_offline_answer_quotes_and_cites() {
        let prompt = prompt_of(&[
            ("shifts".into(), "Shifts start at six. Bring gloves.".into()),
            ("leave".into(), "New staff receive 26 days of annual leave. More days follow.".into()),
        ]);
        let mut request = ChatRequest::new(
            Extractive.model(),
            vec![Message::new(Role::System, prompt), Message::new(Role::User, "How many days of leave for new staff?")],
        );
        request.tool_choice = ToolChoice::None;
        assert_eq!(extract(&request), Step::Answer("New staff receive 26 days of annual leave. [2]".into()));
    }

    #[test]
    fn a_task_with_a_file_reads_it() {
        assert!(matches!(plan("show me notes/today.txt"), Step::Call { name, .. } if name == "read_file"));
        assert!(matches!(plan("what is the leave policy"), Step::Call { name, .. } if name == "search_documents"));
    }
}
