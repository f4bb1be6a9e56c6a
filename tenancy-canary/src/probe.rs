//! What a probe is, and what it can see.

use std::fmt;

use async_trait::async_trait;
use serde::Serialize;
use tenancy_core::{Denial, TenantContext};

use crate::canary::Canary;

/// One way from one tenant to another's data, tried.
///
/// A probe plants a canary as its owner, reads it back as its owner, and tries to get it as somebody else, all three
/// through the same code that serves customers. The suite does the judging: a probe only says what it saw.
///
/// Answers must be given as they came, without what was asked in them: a search that repeats the question would count
/// as a leak of what was in it.
#[async_trait]
pub trait Probe: Send + Sync + 'static {
    /// A short name.
    fn name(&self) -> &str;

    /// The attack path it tries.
    fn path(&self) -> AttackPath;

    /// What an attempt must come to for the boundary to have held.
    fn expect(&self) -> Expect;

    /// Puts the canary where the owner's data is, under its [`reference`](Canary::reference) or a name that follows from
    /// it. Called once per tenant and run.
    ///
    /// # Errors
    /// [`NotPlanted`]; the probe is inconclusive then.
    async fn plant(&self, owner: &TenantContext, canary: &Canary) -> Result<(), NotPlanted>;

    /// Reads the canary as its owner: the positive control. Called before and after the attack.
    async fn owner_reads(&self, owner: &TenantContext, canary: &Canary) -> Observation;

    /// Tries to get another tenant's canary.
    async fn attack(&self, other: &TenantContext, canary: &Canary) -> Observation;

    /// The answers, byte for byte, to asking for the other tenant's object and for one that never existed: status,
    /// headers that matter and body. They must not differ. `None`, the default: the path has no such question.
    async fn oracle(&self, _other: &TenantContext, _canary: &Canary) -> Option<OracleAnswers> {
        None
    }
}

/// The ways data crosses between tenants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "snake_case")]
pub enum AttackPath {
    /// Asking for another tenant's object by its id.
    DirectId,
    /// A search that is near to another tenant's text.
    VectorSearch,
    /// Repeating another tenant's request to a cache.
    CacheReplay,
    /// Another tenant's memory or session.
    MemorySession,
    /// A tool's argument or file path.
    ToolArgument,
    /// A database tool, or a pooled connection that somebody used before.
    DatabaseTool,
    /// Spans, metrics and logs.
    Telemetry,
    /// Another tenant's adapter or model.
    ModelRouting,
}

impl AttackPath {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::DirectId,
        Self::VectorSearch,
        Self::CacheReplay,
        Self::MemorySession,
        Self::ToolArgument,
        Self::DatabaseTool,
        Self::Telemetry,
        Self::ModelRouting,
    ];

    /// The words in a report.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DirectId => "direct id",
            Self::VectorSearch => "vector search",
            Self::CacheReplay => "cache replay",
            Self::MemorySession => "memory or session",
            Self::ToolArgument => "tool argument",
            Self::DatabaseTool => "database tool",
            Self::Telemetry => "telemetry",
            Self::ModelRouting => "model routing",
        }
    }
}

/// What an attempt must come to. The other of the two is no pass: a denied search was not searched, and an empty answer
/// where a refusal belongs may come from an empty store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// A typed refusal: the target is named, and it is not the attacker's.
    Denied,
    /// An answer without the canary: nothing was named, and the other tenant's data takes no part.
    Absent,
}

/// What a probe saw. `Debug` shows no text.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Observation {
    /// A typed refusal.
    Denied {
        /// Its rule.
        rule: String,
        /// What the caller was shown.
        shown: String,
    },
    /// An answer with nothing in it.
    Absent,
    /// An answer.
    Found(String),
    /// No answer: what came instead.
    Failed(String),
}

impl Observation {
    /// A refusal that shows nothing but its rule.
    #[must_use]
    pub fn denied(rule: impl Into<String>) -> Self {
        Self::Denied { rule: rule.into(), shown: String::new() }
    }

    /// What an error says: a refusal when there is a [`Denial`] in it, else a failure.
    #[must_use]
    pub fn of_error(error: &(dyn std::error::Error + 'static)) -> Self {
        let shown = error.to_string();
        match Denial::of(error) {
            Some(denial) => Self::Denied { rule: denial.rule().to_owned(), shown },
            None => Self::Failed(shown),
        }
    }

    /// Everything that was handed over.
    pub(crate) fn texts(&self) -> [&str; 2] {
        match self {
            Self::Denied { rule, shown } => [rule, shown],
            Self::Absent => ["", ""],
            Self::Found(text) | Self::Failed(text) => [text, ""],
        }
    }
}

impl fmt::Debug for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied { rule, .. } => write!(f, "Denied({rule})"),
            Self::Absent => f.write_str("Absent"),
            Self::Found(text) => write!(f, "Found({} bytes)", text.len()),
            Self::Failed(_) => f.write_str("Failed"),
        }
    }
}

/// Two answers that must be one. `Debug` shows their lengths.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OracleAnswers {
    /// To asking for the other tenant's object.
    pub foreign: Vec<u8>,
    /// To asking for one that never existed.
    pub unknown: Vec<u8>,
}

impl OracleAnswers {
    /// The two answers.
    #[must_use]
    pub fn new(foreign: impl Into<Vec<u8>>, unknown: impl Into<Vec<u8>>) -> Self {
        Self { foreign: foreign.into(), unknown: unknown.into() }
    }
}

impl fmt::Debug for OracleAnswers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OracleAnswers({} and {} bytes)", self.foreign.len(), self.unknown.len())
    }
}

/// The canary could not be planted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("the canary could not be planted")]
#[non_exhaustive]
pub struct NotPlanted;

impl NotPlanted {
    /// For `map_err`: whatever was wrong.
    #[must_use]
    pub fn because<E>(_: E) -> Self {
        Self
    }
}
