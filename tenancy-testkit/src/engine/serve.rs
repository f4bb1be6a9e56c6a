//! `/v1/chat/completions`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::post;
use serde_json::{Value, json};

use super::blocks::Blocks;
use super::{EngineRequest, Salts};

type Answer = Box<dyn Fn(&[(String, String)]) -> String + Send + Sync>;
type Call = Box<dyn Fn(&Value) -> Option<(String, String)> + Send + Sync>;

pub(super) struct Engine {
    pub(super) salts: Salts,
    pub(super) caches: bool,
    pub(super) reports: bool,
    pub(super) omits_zeros: bool,
    pub(super) each_token: Duration,
    pub(super) key: Option<String>,
    pub(super) answer: Answer,
    pub(super) call: Call,
    blocks: Mutex<Blocks>,
    requests: Mutex<Vec<EngineRequest>>,
}

impl Engine {
    pub(super) fn new(salts: Salts) -> Self {
        Self {
            salts,
            caches: true,
            reports: true,
            omits_zeros: false,
            each_token: Duration::ZERO,
            key: None,
            answer: Box::new(quote),
            call: Box::new(|_| None),
            blocks: Mutex::default(),
            requests: Mutex::default(),
        }
    }

    pub(super) fn requests(&self) -> Vec<EngineRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lets_in(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        self.key.as_ref().is_none_or(|key| shown == Some(format!("Bearer {key}").as_str()))
    }

    fn note(&self, headers: &HeaderMap, body: &Bytes) -> Value {
        let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
        let headers = headers
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
        let request = EngineRequest {
            headers: headers.collect(),
            text: String::from_utf8_lossy(body).into_owned(),
            body: parsed.clone(),
        };
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        parsed
    }

    /// How much is there.
    fn found(&self, asked: &Asked) -> usize {
        let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        match (self.salts, asked.salt.as_deref()) {
            (Salts::Honoured, salt) | (Salts::IgnoredWhereAbsent, salt @ Some(_)) => {
                blocks.found(salt, &asked.model, &asked.words())
            }
            (Salts::Ignored, _) => blocks.found(None, &asked.model, &asked.words()),
            (Salts::IgnoredWhereAbsent, None) => blocks.found_anywhere(&asked.model, &asked.words()),
        }
    }

    fn keep(&self, asked: &Asked) {
        let salt = if self.salts == Salts::Ignored { None } else { asked.salt.as_deref() };
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner).keep(salt, &asked.model, &asked.words());
    }

    async fn completion(&self, asked: &Asked, body: &Value) -> Value {
        let all = asked.words().len();
        let cached = if self.caches { self.found(asked) } else { 0 };
        tokio::time::sleep(self.each_token.saturating_mul(u32::try_from(all - cached).unwrap_or(u32::MAX))).await;
        if self.caches {
            self.keep(asked);
        }
        let said = (self.answer)(&asked.messages);
        let kept: Vec<&str> = said.split_inclusive(' ').take(asked.max_tokens).collect();
        let whole = kept.len() == said.split_inclusive(' ').count();
        let mut message = json!({ "role": "assistant", "content": kept.concat().trim_end() });
        if let Some((name, arguments)) = (self.call)(body) {
            let function = json!({ "name": name, "arguments": arguments });
            message["tool_calls"] = json!([{ "id": "call-stub", "type": "function", "function": function }]);
        }
        let told = self.reports && !(self.omits_zeros && cached == 0);
        json!({
            "id": "chatcmpl-stub",
            "object": "chat.completion",
            "created": 0,
            "model": asked.model,
            "choices": [{
                "index": 0,
                "message": message,
                "finish_reason": if whole { "stop" } else { "length" },
            }],
            "usage": {
                "prompt_tokens": all,
                "completion_tokens": kept.len(),
                "total_tokens": all + kept.len(),
                "prompt_tokens_details": told.then(|| json!({ "cached_tokens": cached })),
            },
        })
    }
}

/// What it reads of a body.
struct Asked {
    model: String,
    salt: Option<String>,
    messages: Vec<(String, String)>,
    max_tokens: usize,
}

impl Asked {
    fn read(body: &Value) -> Result<Self, &'static str> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let messages = body["messages"].as_array().ok_or("messages are wanted")?.iter();
        let messages = messages.map(|message| Some((text(&message["role"])?, text(&message["content"])?)));
        let salt = match &body["cache_salt"] {
            Value::Null => None,
            salt => Some(text(salt).filter(|salt| is_salt(salt)).ok_or("cache_salt is no salt")?),
        };
        Ok(Self {
            model: text(&body["model"]).ok_or("a model is wanted")?,
            salt,
            messages: messages.collect::<Option<_>>().ok_or("a message has a role and a content")?,
            max_tokens: body["max_tokens"].as_u64().and_then(|most| most.try_into().ok()).unwrap_or(usize::MAX),
        })
    }

    fn words(&self) -> Vec<String> {
        let said =
            self.messages.iter().flat_map(|(role, text)| [role.as_str()].into_iter().chain(text.split_whitespace()));
        TEMPLATE.split_whitespace().chain(said).map(str::to_owned).collect()
    }
}

/// As vLLM's (vLLM 51444).
fn is_salt(salt: &str) -> bool {
    !salt.is_empty() && salt.chars().count() <= 128 && !salt.contains(['@', '/', '\\', '\0'])
}

/// The last message's first sentence, of twelve words at most.
fn quote(messages: &[(String, String)]) -> String {
    let last = messages.last().map(|(_, text)| text.as_str()).unwrap_or_default();
    let sentence = last.split_inclusive(['.', '!', '?']).next().unwrap_or_default();
    let words: Vec<&str> = sentence.split_whitespace().take(12).collect();
    format!("You said: \"{}\"", words.join(" "))
}

pub(super) fn router(engine: Arc<Engine>) -> Router {
    Router::new().route("/v1/chat/completions", post(complete)).with_state(engine)
}

async fn complete(State(engine): State<Arc<Engine>>, headers: HeaderMap, body: Bytes) -> Response {
    let body = engine.note(&headers, &body);
    if !engine.lets_in(&headers) {
        return refuse(StatusCode::UNAUTHORIZED, "Invalid API key");
    }
    match Asked::read(&body) {
        Ok(asked) => Json(engine.completion(&asked, &body).await).into_response(),
        Err(why) => refuse(StatusCode::BAD_REQUEST, why),
    }
}

fn refuse(status: StatusCode, why: &str) -> Response {
    (status, Json(json!({ "error": { "message": why, "code": status.as_u16() } }))).into_response()
}

/// What stands before every prompt: more than one block, and no whole number of them.
const TEMPLATE: &str = "Below is a conversation between a person and a machine that answers \
                        as shortly and as truly as it can.";
