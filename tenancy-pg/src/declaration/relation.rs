//! A schema's name and a table's.

use std::fmt;

use super::error::{DeclarationError, name};
use crate::ident::Name;

/// A table, view or other relation, named as the catalog holds it: unquoted, case and all.
///
/// [`Display`](fmt::Display) is SQL: both parts quoted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Relation {
    pub(crate) schema: Name,
    pub(crate) table: Name,
}

impl Relation {
    pub(crate) fn parse(schema: &str, table: &str) -> Result<Self, DeclarationError> {
        Ok(Self { schema: name(schema, "schema")?, table: name(table, "table")? })
    }

    /// The schema's name.
    #[must_use]
    pub fn schema(&self) -> &str {
        self.schema.as_str()
    }

    /// The relation's name.
    #[must_use]
    pub fn table(&self) -> &str {
        self.table.as_str()
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema.quoted(), self.table.quoted())
    }
}

impl fmt::Debug for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Relation({self})")
    }
}
