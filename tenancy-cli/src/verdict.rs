//! What a command found, as an exit code.

use std::process::ExitCode;

use tenancy_pg::{Finding, Severity};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict(u8);

impl Verdict {
    pub(crate) const PASSED: Self = Self(0);
    pub(crate) const FATAL: Self = Self(1);
    pub(crate) const COULD_NOT_LOOK: Self = Self(2);
    pub(crate) const WARNINGS: Self = Self(3);

    /// The worst finding decides. A warning counts where it was asked to.
    pub(crate) fn of<'f>(findings: impl IntoIterator<Item = &'f Finding>, deny_warnings: bool) -> Self {
        match findings.into_iter().map(|finding| finding.severity).min() {
            None => Self::PASSED,
            Some(Severity::Fatal) => Self::FATAL,
            Some(Severity::Warning) if !deny_warnings => Self::PASSED,
            // A severity that this version does not know counts like a warning that was asked for.
            Some(_warning) => Self::WARNINGS,
        }
    }
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        Self::from(verdict.0)
    }
}
