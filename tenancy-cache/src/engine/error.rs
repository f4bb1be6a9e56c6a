//! Why an engine gave no answer.

use serde::Serialize;

use super::BodyError;

/// Why an engine gave no answer. Nothing of the address, the key or the answer is kept: an answer may quote the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EngineError {
    /// The address can't be used.
    #[error("the address is no http or https URL, or there is a user name or password in it")]
    Address,
    /// No client could be made.
    #[error("TLS can't be set up")]
    Tls,
    /// Nobody answers there, or the connection broke.
    #[error("the engine can't be reached")]
    Unreachable,
    /// There was no whole answer in time.
    #[error("the engine did not answer in time")]
    Late,
    /// It answered with this HTTP status. A redirect is one: nothing is sent to where somebody else says.
    #[error("the engine refused with status {0}")]
    Refused(u16),
    /// The answer is larger than such an answer can be.
    #[error("the answer is too large")]
    TooLarge,
    /// The answer is not a chat completion.
    #[error("the answer is not a chat completion")]
    Unreadable,
    /// There is no body for the request.
    #[error(transparent)]
    Body(#[from] BodyError),
}
