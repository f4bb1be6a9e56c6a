//! Why a call did not work: for whoever called, and for whoever writes a tool.

use std::time::Duration;

use tenancy_core::{BoxError, Denial, Face, Redacted};

use crate::arguments::InvalidArguments;
use crate::files::FilesError;

/// Why a call did not work. The audit record of the call holds [`rule`](Self::rule).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolsError {
    /// Refused and on record.
    #[error("{0}")]
    Denied(#[from] Denial),
    /// No tool of that name. The same for every tenant.
    #[error("no such tool")]
    UnknownTool,
    /// The arguments are not taken.
    #[error(transparent)]
    Invalid(#[from] InvalidArguments),
    /// Too many calls of the tenant are running already.
    #[error("too many calls at a time")]
    Busy,
    /// The tool was not done in time, and was aborted.
    #[error("the tool was not done within {limit:?}")]
    TimedOut {
        /// The time it had.
        limit: Duration,
    },
    /// The tool panicked.
    #[error("the tool panicked")]
    Panicked,
    /// The tool answered more than a model may be given.
    #[error("the tool answered more than {limit} bytes")]
    OutputTooLarge {
        /// The most there may be, in bytes.
        limit: usize,
    },
    /// The tool says that it can't do this.
    #[error("the tool declined")]
    Declined(Declined),
    /// The tool failed.
    #[error("the tool failed")]
    Failed(#[source] Redacted<BoxError>),
}

impl ToolsError {
    /// A stable name of the failure, as the audit log has it.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::Denied(denial) => denial.rule(),
            Self::UnknownTool => "tool.unknown",
            Self::Invalid(_) => "tool.arguments",
            Self::Busy => "tool.busy",
            Self::TimedOut { .. } => "tool.timed_out",
            Self::Panicked => "tool.panicked",
            Self::OutputTooLarge { .. } => "tool.output_too_large",
            Self::Declined(_) => "tool.declined",
            Self::Failed(_) => "tool.failed",
        }
    }

    /// What a caller may learn.
    #[must_use]
    pub const fn face(&self) -> Face {
        match self {
            Self::Denied(denial) => denial.face(),
            Self::UnknownTool => Face::NotFound,
            Self::Invalid(_) | Self::Declined(_) => Face::Invalid,
            Self::Busy | Self::TimedOut { .. } | Self::Panicked | Self::OutputTooLarge { .. } | Self::Failed(_) => {
                Face::Unavailable
            }
        }
    }

    /// Whether the tool itself is to blame: what the breaker counts.
    pub(crate) const fn is_fault(&self) -> bool {
        match self {
            Self::TimedOut { .. } | Self::Panicked | Self::OutputTooLarge { .. } | Self::Failed(_) => true,
            Self::Denied(_) | Self::UnknownTool | Self::Invalid(_) | Self::Busy | Self::Declined(_) => false,
        }
    }
}

/// Why a tool's own code did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// A scoped handle refused, and has put it on record.
    #[error("{0}")]
    Denied(#[from] Denial),
    /// The tool can't do this; the text is for the model. Does not count as a failure.
    #[error("the tool declined")]
    Declined(Declined),
    /// The tool failed. Enough of these in a row open the breaker for this tenant and tool.
    #[error("the tool failed")]
    Failed(#[source] Redacted<BoxError>),
}

impl ToolError {
    /// The tool can't do this, and says why to the model.
    #[must_use]
    pub fn declined(text: impl Into<String>) -> Self {
        Self::Declined(Declined(text.into()))
    }

    /// The tool failed. The text of the error is withheld.
    #[must_use]
    pub fn failed(error: impl Into<BoxError>) -> Self {
        Self::Failed(Redacted::new(error.into()))
    }
}

impl From<FilesError> for ToolError {
    fn from(error: FilesError) -> Self {
        match error {
            FilesError::Denied(denial) => Self::Denied(denial),
            error @ FilesError::Io { .. } => Self::failed(error),
            error @ (FilesError::InvalidPath
            | FilesError::NotAFile
            | FilesError::NotADirectory
            | FilesError::NotEmpty
            | FilesError::ReadOnly
            | FilesError::TooLarge { .. }) => Self::declined(error.to_string()),
        }
    }
}

impl From<ToolError> for ToolsError {
    fn from(error: ToolError) -> Self {
        match error {
            ToolError::Denied(denial) => Self::Denied(denial),
            ToolError::Declined(text) => Self::Declined(text),
            ToolError::Failed(error) => Self::Failed(error),
        }
    }
}

/// A tool's words to the model. `Debug` shows their length only.
#[derive(Clone, PartialEq, Eq)]
pub struct Declined(String);

impl Declined {
    /// The words.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Declined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Declined({} bytes)", self.0.len())
    }
}
