//! Engines that speak as OpenAI does, over HTTP.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use tenancy_core::chat::{ChatRequest, Decimal, Message, ModelIdentity, Role};

use super::{EngineBody, EngineError, Observed, PrefixEngine};
use crate::key::EngineSalt;

/// An OpenAI-compatible engine: vLLM, SGLang, TensorRT-LLM, or what stands in front of them.
///
/// No redirect is followed, no proxy of the environment is used, no answer is read beyond 1 MiB, and none is waited for
/// longer than a minute unless [`patience`](Self::patience) says so. No header is sent but the key's.
pub struct OpenAiEngine {
    client: Client,
    url: Url,
    model: String,
    key: Option<SecretString>,
    patience: Duration,
}

impl OpenAiEngine {
    /// The engine at `base`, such as `http://engine:8000/v1`. `model` is the name that a probe asks for. Nothing is sent
    /// yet.
    ///
    /// # Errors
    /// [`EngineError::Address`], [`EngineError::Tls`].
    pub fn new(base: &str, model: &str) -> Result<Self, EngineError> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls().map_err(|_| EngineError::Tls)?)
            .redirect(Policy::none())
            .no_proxy()
            .build()
            .map_err(|_| EngineError::Tls)?;
        Ok(Self { client, url: completions(base)?, model: model.to_owned(), key: None, patience: PATIENCE })
    }

    /// The bearer key of the service that asks.
    #[must_use]
    pub fn key(mut self, key: SecretString) -> Self {
        self.key = Some(key);
        self
    }

    /// How long a whole answer is waited for, a minute unless it is said.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sends a body and gives the engine's answer, a chat completion as JSON. Dropped: the engine may have answered.
    ///
    /// # Errors
    /// [`EngineError`].
    pub async fn chat(&self, body: &EngineBody<'_>) -> Result<Value, EngineError> {
        self.send(body).await.map(|(answer, _)| answer)
    }

    /// The answer, and how long it was until it began.
    async fn send(&self, body: &EngineBody<'_>) -> Result<(Value, Duration), EngineError> {
        let mut request = self.client.post(self.url.clone()).timeout(self.patience).json(body);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.expose_secret());
        }
        let began = Instant::now();
        let response = request.send().await.map_err(quiet)?;
        let took = began.elapsed();
        if response.status() != StatusCode::OK {
            return Err(EngineError::Refused(response.status().as_u16()));
        }
        let answer: Value = serde_json::from_slice(&bounded(response).await?).map_err(|_| EngineError::Unreadable)?;
        Completion::read(&answer)?;
        Ok((answer, took))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl PrefixEngine for OpenAiEngine {
    async fn ask(&self, prompt: &str, salt: Option<&EngineSalt>) -> Result<Observed, EngineError> {
        let model = ModelIdentity { id: self.model.clone(), version: String::new(), adapter: None };
        let mut chat = ChatRequest::new(model, vec![Message::new(Role::User, prompt)]);
        chat.max_tokens = Some(1);
        chat.temperature = Some(Decimal::from_micros(0));
        let (answer, took) = self.send(&EngineBody::with(&chat, salt)?).await?;
        Completion::read(&answer)?.observed(took)
    }
}

impl fmt::Debug for OpenAiEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenAiEngine(..)")
    }
}

/// What makes an answer a chat completion.
#[derive(Deserialize)]
struct Completion {
    choices: Vec<IgnoredAny>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

impl Completion {
    fn read(answer: &Value) -> Result<Self, EngineError> {
        let read = Self::deserialize(answer).map_err(|_| EngineError::Unreadable)?;
        if read.choices.is_empty() { Err(EngineError::Unreadable) } else { Ok(read) }
    }

    /// More tokens from the cache than the prompt has are no report.
    fn observed(self, took: Duration) -> Result<Observed, EngineError> {
        let prompt_tokens = self.usage.as_ref().and_then(|usage| usage.prompt_tokens);
        let details = self.usage.and_then(|usage| usage.prompt_tokens_details);
        let cached_tokens = details.and_then(|details| details.cached_tokens);
        match (cached_tokens, prompt_tokens) {
            (Some(cached), Some(all)) if cached > all => Err(EngineError::Unreadable),
            _ => Ok(Observed { cached_tokens, prompt_tokens, took }),
        }
    }
}

fn completions(base: &str) -> Result<Url, EngineError> {
    let mut url = Url::parse(base).map_err(|_| EngineError::Address)?;
    if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() || url.password().is_some() {
        return Err(EngineError::Address);
    }
    url.path_segments_mut().map_err(|()| EngineError::Address)?.pop_if_empty().extend(["chat", "completions"]);
    Ok(url)
}

async fn bounded(mut response: Response) -> Result<Vec<u8>, EngineError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(quiet)? {
        if body.len() + chunk.len() > MAX_ANSWER {
            return Err(EngineError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The client's own text has the address in it.
fn quiet(error: reqwest::Error) -> EngineError {
    if error.is_timeout() { EngineError::Late } else { EngineError::Unreachable }
}

/// The platform's trust anchors and *ring*, by name: two TLS providers in one program make a default that panics.
fn tls() -> Result<ClientConfig, rustls::Error> {
    Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth())
}

const MAX_ANSWER: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_added_to_the_base() {
        for (base, url) in [
            ("http://engine:8000/v1", "http://engine:8000/v1/chat/completions"),
            ("http://engine:8000/v1/", "http://engine:8000/v1/chat/completions"),
            ("https://gate/engines/7/v1?zone=a", "https://gate/engines/7/v1/chat/completions?zone=a"),
        ] {
            assert_eq!(completions(base).unwrap().as_str(), url);
        }
    }

    #[test]
    fn only_addresses_of_http_without_a_password_are_taken() {
        for base in
            ["engine:8000", "", "ftp://engine/v1", "unix:/run/engine", "http://key@engine/v1", "http://a:b@engine/"]
        {
            assert_eq!(OpenAiEngine::new(base, "m").unwrap_err(), EngineError::Address, "{base}");
        }
    }
}
