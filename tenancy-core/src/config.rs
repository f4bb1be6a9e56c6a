//! What can be wrong with a configuration.

use std::path::Path;

use crate::denial::Denial;

/// A configuration that can't be used. The text is for the operator who wrote it: it names files, keys and tenants of
/// the configuration and nothing else.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file can't be read.
    #[error("{path}: {kind}")]
    Read {
        /// The file.
        path: String,
        /// What the system said.
        kind: std::io::ErrorKind,
    },
    /// Not TOML of the expected form.
    #[error("{place}: {why}")]
    Toml {
        /// The file and the line, `tenancy.toml:7`; of a text without a file, `line 7`.
        place: String,
        /// What is wrong there.
        why: String,
    },
    /// A tenant's entry is unusable.
    #[error("tenant \"{tenant}\": {what}")]
    Tenant {
        /// As the entry names it.
        tenant: String,
        /// What is wrong.
        what: String,
    },
    /// Anything else, said in words.
    #[error("{0}")]
    Other(String),
    /// The realm could not be started.
    #[error("the realm could not start: {0}")]
    Start(#[from] Denial),
}

impl ConfigError {
    pub(crate) fn read(path: &Path, error: std::io::Error) -> Self {
        Self::Read { path: path.display().to_string(), kind: error.kind() }
    }

    /// Says the line, of `text` and where there is one of its file.
    pub(crate) fn toml(file: Option<&Path>, text: &str, error: &toml::de::Error) -> Self {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let place = file.map_or_else(|| format!("line {line}"), |file| format!("{}:{line}", file.display()));
        Self::Toml { place, why: error.message().to_owned() }
    }

    pub(crate) fn tenant(tenant: &str, what: impl Into<String>) -> Self {
        Self::Tenant { tenant: tenant.to_owned(), what: what.into() }
    }
}
