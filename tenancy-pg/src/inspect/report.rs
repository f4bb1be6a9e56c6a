//! What an inspection found.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::codes::Code;
use crate::error::PgError;

/// The report of an inspection. `Display` is for people, [`Serialize`] for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Inspection {
    /// The server, as `server_version_num` says it: 150018 is 15.18.
    pub server_version: i32,
    /// Who logged in.
    pub session_user: String,
    /// In whose name statements run.
    pub current_user: String,
    /// What was found, the fatal first.
    pub findings: Vec<Finding>,
}

impl Inspection {
    /// The findings that keep the database from being used.
    pub fn fatal(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Fatal)
    }

    /// Whether something with this code was found.
    #[must_use]
    pub fn has(&self, code: Code) -> bool {
        self.findings.iter().any(|finding| finding.code == code)
    }

    /// The codes of the fatal findings, each once.
    pub(crate) fn codes(&self) -> String {
        let codes: BTreeSet<&str> = self.fatal().map(|finding| finding.code.as_str()).collect();
        codes.into_iter().collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn passed(self) -> Result<Self, PgError> {
        if self.fatal().next().is_none() { Ok(self) } else { Err(PgError::Inspection(Box::new(self))) }
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server_version, session_user, current_user, findings } = self;
        let (major, minor) = (server_version / 10_000, server_version % 10_000);
        writeln!(f, "Postgres {major}.{minor}, logged in as {session_user:?}, acting as {current_user:?}")?;
        if findings.is_empty() {
            writeln!(f, "nothing found")?;
        }
        for (at, finding) in findings.iter().enumerate() {
            let first = findings[..at].iter().find(|earlier| earlier.fix == finding.fix);
            writeln!(f)?;
            match first {
                Some(Finding { code, object, .. }) => {
                    finding.describe(f)?;
                    writeln!(f, "  mend: as {} {} above", code.as_str(), shortened(object))?;
                }
                None => writeln!(f, "{finding}")?,
            }
        }
        if findings.is_empty() {
            return Ok(());
        }
        let fatal = self.fatal().count();
        let warnings = findings.len() - fatal;
        writeln!(f, "\n{fatal} fatal, {warnings} warnings; `tenancy inspect --fix-sql` prints the mends")
    }
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// What kind of thing, stable across versions.
    pub code: Code,
    /// What it means for the start of the service.
    pub severity: Severity,
    /// The role, table or policy, as SQL names it.
    pub object: String,
    /// Why it matters, in two sentences.
    pub why: String,
    /// What mends it, as SQL or as what to type.
    pub fix: String,
}

impl Finding {
    pub(crate) fn fatal(code: Code, object: impl Into<String>, why: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { code, severity: Severity::Fatal, object: object.into(), why: why.into(), fix: fix.into() }
    }

    pub(crate) fn warning(
        code: Code,
        object: impl Into<String>,
        why: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { severity: Severity::Warning, ..Self::fatal(code, object, why, fix) }
    }
}

impl Finding {
    /// All but the mend, each line with its end.
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, severity, object, why, fix: _ } = self;
        let word = match severity {
            Severity::Fatal => "fatal",
            Severity::Warning => "warning",
        };
        writeln!(f, "{word}[{}] {} {}\n  {why}", code.as_str(), code.title(), shortened(object))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe(f)?;
        write!(f, "  mend: {}", self.fix)
    }
}

/// The first few of many objects. A comma between brackets is one of a signature.
fn shortened(object: &str) -> String {
    let (mut depth, mut ends) = (0_usize, Vec::new());
    for (at, character) in object.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => ends.push(at),
            _other => {}
        }
    }
    match ends.get(SHOWN - 1) {
        Some(end) if ends.len() > SHOWN => format!("{} and {} more", &object[..*end], ends.len() + 1 - SHOWN),
        _few => object.to_owned(),
    }
}

/// Of the objects of one finding.
const SHOWN: usize = 3;

/// What a finding means for the start of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// Tenants are not kept apart, or it can't be told: the database is not used.
    Fatal,
    /// Worth mending; the database is used.
    Warning,
}
