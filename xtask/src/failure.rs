//! Why a command stops.

use std::fmt;
use std::process::ExitCode;

/// A message for the person at the terminal, and the exit status.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    status: u8,
}

impl Failure {
    /// Something was checked and found wrong.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: 1 }
    }

    /// Something of the machine is missing; the message says what to type.
    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: 2 }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.status)
    }

    /// Says what was being done.
    pub(crate) fn at(what: impl fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::new(format!("{what}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
