//! A relation that a cross-tenant grant may read, and how much of it.

use std::fmt;

use super::error::{DeclarationError, name};
use super::relation::Relation;
use crate::ident::Name;

/// A relation that a cross-tenant grant may read, and its columns that it may read: these and no other, whatever is added
/// to the relation later.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReportRelation {
    pub(crate) relation: Relation,
    pub(crate) columns: Vec<Name>,
}

impl ReportRelation {
    pub(super) fn parse(schema: &str, table: &str, columns: &[String]) -> Result<Self, DeclarationError> {
        let relation = Relation::parse(schema, table)?;
        let refused = |why| DeclarationError::Report { relation: relation.to_string(), why };
        if columns.is_empty() {
            return Err(refused("names no column: what is not named is not read"));
        }
        let mut names: Vec<Name> = columns.iter().map(|column| name(column, "column")).collect::<Result<_, _>>()?;
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(refused("names a column twice"));
        }
        Ok(Self { relation, columns: names })
    }

    /// The relation.
    #[must_use]
    pub const fn relation(&self) -> &Relation {
        &self.relation
    }

    /// The columns, sorted.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(Name::as_str)
    }

    /// The columns for a `GRANT SELECT (..)`.
    pub(crate) fn columns_sql(&self) -> String {
        self.columns.iter().map(Name::quoted).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Debug for ReportRelation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReportRelation({} ({}))", self.relation, self.columns_sql())
    }
}
