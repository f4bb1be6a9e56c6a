//! A function that runs in its owner's name and was read by somebody.

use std::fmt;

use super::error::{DeclarationError, name};
use crate::ident::Name;

/// A `SECURITY DEFINER` or `LEAKPROOF` function, trigger functions included, that somebody read and answers for: what
/// such a function does is not in the catalog, so the inspection stops at each that is not declared.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrustedFunction {
    schema: Name,
    signature: String,
    reason: String,
}

impl TrustedFunction {
    pub(super) fn parse(schema: &str, signature: &str, reason: &str) -> Result<Self, DeclarationError> {
        let refused = |why| DeclarationError::TrustedFunction { function: format!("{schema}.{signature}"), why };
        if !signature.ends_with(')') || !signature.contains('(') || signature.starts_with('(') {
            return Err(refused("needs its argument types, as in search(text, integer)"));
        }
        if reason.trim().is_empty() {
            return Err(refused("needs a reason"));
        }
        let schema = name(schema, "schema")?;
        Ok(Self { schema, signature: signature.to_owned(), reason: reason.to_owned() })
    }

    /// The schema's name.
    #[must_use]
    pub fn schema(&self) -> &str {
        self.schema.as_str()
    }

    /// Name and argument types, as in `search(text, integer)`: types by their full names, and with their schema if that
    /// is not the server's own. The finding about the function shows it.
    #[must_use]
    pub fn signature(&self) -> &str {
        &self.signature
    }

    /// Why it may be trusted.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Debug for TrustedFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TrustedFunction({}.{})", self.schema.quoted(), self.signature)
    }
}
