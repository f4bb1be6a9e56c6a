//! What is sent to an inference engine that keeps prefixes of prompts, and what of it can be seen.
//!
//! An engine that many tenants share computes a prefix once and takes it again for whoever asks next, which tells in time
//! and money what a neighbour asked. [`TenantCaches::engine_salt`](crate::TenantCaches::engine_salt) keeps them apart, if
//! the salt arrives and the engine heeds it: engines pass over fields that they don't know in silence. [`EngineBody`] makes
//! it arrive, and [`SaltProbe`](crate::probe::SaltProbe) finds out whether it is heeded.

use std::time::Duration;

use async_trait::async_trait;

use crate::key::EngineSalt;

mod body;
mod error;
#[cfg(feature = "openai")]
mod openai;

pub use body::{BodyError, EngineBody};
pub use error::EngineError;
#[cfg(feature = "openai")]
pub use openai::OpenAiEngine;

/// An engine that can be asked with a salt, and without one, for a probe.
#[async_trait]
pub trait PrefixEngine: Send + Sync {
    /// Lets the engine read a prompt under a salt and answer as shortly as it can. `None` sends no salt at all, neither an
    /// empty one nor a default.
    ///
    /// Whatever shapes the prefix beside the prompt must be the same in every call. Dropped: the engine may have read it.
    ///
    /// # Errors
    /// [`EngineError`].
    async fn ask(&self, prompt: &str, salt: Option<&EngineSalt>) -> Result<Observed, EngineError>;
}

/// What can be seen of an engine's prefix cache in one answer.
#[expect(clippy::exhaustive_structs, reason = "whoever implements an engine builds it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    /// How many tokens of the prompt were taken from the cache. `None` when the answer does not say.
    pub cached_tokens: Option<u64>,
    /// How many tokens the prompt had. `None` when the answer does not say.
    pub prompt_tokens: Option<u64>,
    /// How long it was until the answer began.
    pub took: Duration,
}
