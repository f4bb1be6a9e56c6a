//! A table whose rows belong to tenants.

use std::fmt;

use serde::{Deserialize, Serialize};
use tenancy_core::RowKey;

use super::error::{DeclarationError, name};
use super::relation::Relation;
use super::setting::Setting;
use crate::ident::Name;

/// A table whose rows belong to tenants, and what its protection is to look like.
///
/// ```
/// use tenancy_pg::{RowKeyType, TenantTable};
///
/// let plain = TenantTable::new("public", "note", "tenant_id", RowKeyType::Uuid)?;
/// let events = TenantTable::new("public", "event", "tenant_id", RowKeyType::Uuid)?
///     .composite_keys() // PRIMARY KEY (tenant_id, id), UNIQUE (tenant_id, email)
///     .partitioned()    // its partitions get the policy too, and no rights
///     .floor();         // policies of your own stay, under a restrictive one
/// let receipts = TenantTable::new("public", "receipt", "tenant_id", RowKeyType::Uuid)?
///     .append_only();   // the service reads and inserts, and takes nothing back
/// # Ok::<(), tenancy_pg::DeclarationError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[must_use]
pub struct TenantTable {
    pub(crate) relation: Relation,
    pub(crate) column: Name,
    pub(crate) key: RowKeyType,
    /// Of the whole declaration, see there.
    pub(crate) setting: Setting,
    /// Of the whole declaration, see there.
    pub(crate) signed: bool,
    pub(crate) composite_keys: bool,
    pub(crate) partitioned: bool,
    pub(crate) floor: bool,
    pub(crate) append_only: bool,
}

impl TenantTable {
    /// A table and its tenant column, named as the catalog holds them (unquoted, case and all).
    ///
    /// # Errors
    /// [`DeclarationError::Name`] for a name that the catalog can't hold.
    pub fn new(schema: &str, table: &str, column: &str, key: RowKeyType) -> Result<Self, DeclarationError> {
        Ok(Self {
            relation: Relation::parse(schema, table)?,
            column: name(column, "column")?,
            key,
            setting: Setting::default(),
            signed: false,
            composite_keys: false,
            partitioned: false,
            floor: false,
            append_only: false,
        })
    }

    /// Wants the tenant column in front of the primary key and of every unique key, so that no tenant learns from a
    /// refused value that another one has it. Without it, unique keys stay and the inspection warns of them.
    pub const fn composite_keys(mut self) -> Self {
        self.composite_keys = true;
        self
    }

    /// Says that the table has partitions: a generated migration protects those that are there when it runs, each by
    /// itself, since the policies of the parent do not hold a statement that names a partition.
    pub const fn partitioned(mut self) -> Self {
        self.partitioned = true;
        self
    }

    /// Wants a restrictive policy under all others instead of one plain policy: for a table with policies of its own,
    /// none of which can then let another tenant's row through. It holds every role, so neither a legacy role nor a
    /// report can read past it.
    pub const fn floor(mut self) -> Self {
        self.floor = true;
        self
    }

    /// Keeps `UPDATE` and `DELETE` back from the service: it reads rows and inserts some, and changes and deletes none, so
    /// that no statement which a tenant smuggles in does either. Generated rights leave both out, a migration that compares
    /// revokes them, and the inspection finds the ways that are left to them: rights, and those of parents, views, rules and
    /// foreign keys ([`Code::AppendOnly`](crate::Code::AppendOnly)). Other roles are granted what they need by hand, as
    /// [`erasure_sql`](crate::erasure_sql) does.
    pub const fn append_only(mut self) -> Self {
        self.append_only = true;
        self
    }

    /// The schema's name.
    #[must_use]
    pub fn schema(&self) -> &str {
        self.relation.schema()
    }

    /// The table's name.
    #[must_use]
    pub fn table(&self) -> &str {
        self.relation.table()
    }

    /// The tenant column.
    #[must_use]
    pub fn column(&self) -> &str {
        self.column.as_str()
    }

    /// The type of the tenant column.
    #[must_use]
    pub const fn key(&self) -> RowKeyType {
        self.key
    }

    /// Whether the service is to change and delete nothing there.
    #[must_use]
    pub const fn is_append_only(&self) -> bool {
        self.append_only
    }

    /// What the service's role needs, and no more.
    pub(crate) const fn rights(&self) -> &'static [&'static str] {
        if self.append_only { &["SELECT", "INSERT"] } else { &["SELECT", "INSERT", "UPDATE", "DELETE"] }
    }
}

impl fmt::Debug for TenantTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantTable({}, {:?} {})", self.relation, self.column, self.key.sql())
    }
}

/// The type of a tenant column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RowKeyType {
    /// `uuid`: the tenant's life, unless an adopted schema has its own.
    Uuid,
    /// `bigint`.
    BigInt,
    /// `text`.
    Text,
}

impl RowKeyType {
    /// As `format_type` prints it.
    pub(crate) const fn sql(self) -> &'static str {
        match self {
            Self::Uuid => "uuid",
            Self::BigInt => "bigint",
            Self::Text => "text",
        }
    }

    /// `None` for a kind of key that this version does not know.
    pub(crate) fn of(key: &RowKey) -> Option<Self> {
        match key {
            RowKey::Uuid(_) => Some(Self::Uuid),
            RowKey::BigInt(_) => Some(Self::BigInt),
            RowKey::Text(_) => Some(Self::Text),
            _unknown => None,
        }
    }
}

impl PartialEq<Option<RowKeyType>> for RowKeyType {
    fn eq(&self, other: &Option<RowKeyType>) -> bool {
        Some(*self) == *other
    }
}
