//! What the log holds: who did what to whose data, and what came of it. Never content.

use std::fmt;
use std::time::SystemTime;

use crate::denial::Denial;
use crate::id::{Life, RequestId, StoreName, SubjectId};

/// One thing that happened, before it gets its place in a chain.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AuditEvent {
    /// The life whose data it was about; `None` when nobody was identified, or for the operators' own chain.
    pub life: Option<Life>,
    /// An operator's act that reaches every tenant: shown in each tenant's own listing.
    pub everyone: bool,
    /// Who acted: the operator or service behind an impersonation, else the subject.
    pub actor: Option<SubjectId>,
    /// On whose behalf.
    pub subject: Option<SubjectId>,
    /// The store it touched, if one.
    pub store: Option<StoreName>,
    /// A short fixed word: `authenticate`, `query`, `tool.read_file`.
    pub action: &'static str,
    /// What came of it.
    pub outcome: Outcome,
    /// The rule of the denial, if it was one; of a failure that has a name, the name.
    pub rule: Option<&'static str>,
    /// The request it belongs to.
    pub request: Option<RequestId>,
    /// A reason given by a person, for operator acts and for exceptions that a configuration makes; why a store could not
    /// erase; how much of a torn chain was cut off.
    pub reason: Option<String>,
    /// Wall time.
    pub at: SystemTime,
}

impl AuditEvent {
    pub(crate) fn new(action: &'static str, outcome: Outcome, at: SystemTime) -> Self {
        Self {
            life: None,
            everyone: false,
            actor: None,
            subject: None,
            store: None,
            action,
            outcome,
            rule: None,
            request: None,
            reason: None,
            at,
        }
    }

    pub(crate) fn denied(action: &'static str, denial: Denial, at: SystemTime) -> Self {
        Self { rule: Some(denial.rule()), ..Self::new(action, Outcome::Denied, at) }
    }
}

impl fmt::Debug for AuditEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditEvent")
            .field("life", &self.life)
            .field("store", &self.store)
            .field("action", &self.action)
            .field("outcome", &self.outcome)
            .field("rule", &self.rule)
            .finish_non_exhaustive()
    }
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// First access of a request to a store.
    Accessed,
    /// Data was changed.
    Changed,
    /// Refused.
    Denied,
    /// A check had begun and its future was dropped before the outcome was known.
    Cancelled,
    /// A tool call or operator act that went through.
    Done,
    /// A tool call or store operation that failed without being refused.
    Failed,
    /// A torn tail was cut off when the log was opened.
    Recovered,
    /// The writer started or stopped.
    Lifecycle,
}

impl Outcome {
    /// The word in the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accessed => "accessed",
            Self::Changed => "changed",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Recovered => "recovered",
            Self::Lifecycle => "lifecycle",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == word)
    }

    const ALL: [Self; 8] = [
        Self::Accessed,
        Self::Changed,
        Self::Denied,
        Self::Cancelled,
        Self::Done,
        Self::Failed,
        Self::Recovered,
        Self::Lifecycle,
    ];
}
