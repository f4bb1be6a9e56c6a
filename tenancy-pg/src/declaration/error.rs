//! Why a declaration was refused.

use super::setting::DEFAULT_SETTING;
use crate::ident::Name;

/// Why a declaration was refused. Its text names parts of the declaration and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclarationError {
    /// A name that the catalog can't hold.
    #[error("the name of a {what} {why}")]
    Name {
        /// What it should name.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// A table is declared twice.
    #[error("the table {table} is declared twice")]
    Twice {
        /// The table.
        table: String,
    },
    /// The setting's name.
    #[error("the setting must be two lower-case words with a dot between, as in {DEFAULT_SETTING}")]
    Setting,
    /// The registry of tenants has one row key, so all tenant tables must have its type.
    #[error("with the registry or the signed mode, all tenant columns must be of one type")]
    MixedKeys,
    /// A restrictive floor holds every role, so on this table a role that is to read past it could not.
    #[error("the table {table} has a floor, which would stop the roles that are declared to read past it")]
    Floor {
        /// The table.
        table: String,
    },
    /// A report that names no column, or one twice.
    #[error("the report of {relation} {why}")]
    Report {
        /// The relation.
        relation: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A legacy role declared twice, one without an end or a reason, or what is no role: `public` is everybody.
    #[error("the legacy role {role} {why}")]
    LegacyRole {
        /// The role.
        role: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A trusted function without argument types or a reason.
    #[error("the trusted function {function} {why}")]
    TrustedFunction {
        /// The function.
        function: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Not TOML of the expected form.
    #[error("line {line}: {why}")]
    Toml {
        /// The line of the text, from 1.
        line: usize,
        /// What is wrong there.
        why: String,
    },
}

pub(super) fn name(text: &str, what: &'static str) -> Result<Name, DeclarationError> {
    Name::parse(text).map_err(|e| DeclarationError::Name { what, why: e.to_string() })
}
