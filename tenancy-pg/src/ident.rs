//! Names of the catalog and texts, written so that Postgres reads exactly them.

use std::fmt;

/// The name of a schema, table, column or role, as the catalog holds it: case, spaces and quotes count.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Name(String);

impl Name {
    pub(crate) fn parse(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        // The server cuts longer names off, so two of them could come to mean one table.
        if text.len() > MAX_BYTES {
            return Err(NameError::TooLong);
        }
        if text.contains('\0') {
            return Err(NameError::Nul);
        }
        Ok(Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The name between quotes.
    pub(crate) fn quoted(&self) -> String {
        quote_ident(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a name can't be one of the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NameError {
    #[error("is empty")]
    Empty,
    #[error("is longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("holds a zero byte")]
    Nul,
}

/// Quotes an identifier. Every identifier is quoted: a plain one would be folded to lower case and could be a keyword.
pub(crate) fn quote_ident(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Quotes the name of a role. The server takes `"public"`, quotes and all, for everybody, and lets nobody call a role that
/// or `none`: such a name is changed into one that no role can be thought to have, so that the server refuses it by name.
pub(crate) fn quote_role(name: &str) -> String {
    match name {
        "public" | "none" => quote_ident(&format!("{name} is no role")),
        role => quote_ident(role),
    }
}

/// Quotes a text. The `E` form reads the same whatever `standard_conforming_strings` says.
pub(crate) fn quote_text(text: &str) -> String {
    if text.contains('\\') {
        format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// `NAMEDATALEN - 1`.
const MAX_BYTES: usize = 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_doubled_and_nothing_else_changes() {
        assert_eq!(quote_ident(r#"we"ird"#), r#""we""ird""#);
        assert_eq!(quote_ident("Größe x"), "\"Größe x\"");
        assert_eq!([quote_role("public"), quote_role("Public")], ["\"public is no role\"", "\"Public\""]);
        assert_eq!(quote_text("it's"), "'it''s'");
        assert_eq!(quote_text(r"a\'b"), r"E'a\\''b'");
    }

    #[test]
    fn names_that_the_server_would_change_are_refused() {
        assert_eq!(Name::parse(""), Err(NameError::Empty));
        assert_eq!(Name::parse("a\0b"), Err(NameError::Nul));
        assert_eq!(Name::parse(&"ä".repeat(32)), Err(NameError::TooLong));
        assert!(Name::parse(&"a".repeat(63)).is_ok());
    }
}
