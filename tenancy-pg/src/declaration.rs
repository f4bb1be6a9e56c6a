//! What a service says about its tables, in code or in `tenancy.toml`.

use std::fmt;

use serde::Deserialize;
use tenancy_core::RowKey;

use crate::ident::{Name, quote_ident};

/// The tables of a service: which hold tenants' rows, and which are the same for everybody.
///
/// The inspection compares it with the catalog and knows no third kind: a relation that the service can reach and that
/// is not declared is a finding.
///
/// ```
/// use tenancy_pg::{Declaration, RowKeyType, TenantTable};
///
/// let declaration = Declaration::builder()
///     .tenant_table(TenantTable::new("public", "note", "tenant_id", RowKeyType::Uuid)?)
///     .global_table("public", "country")
///     .build()?;
/// assert_eq!(declaration.tenant_tables().len(), 1);
/// # Ok::<(), tenancy_pg::DeclarationError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    setting: Setting,
    tenant_tables: Vec<TenantTable>,
    global_tables: Vec<GlobalTable>,
}

impl Declaration {
    /// Starts a declaration in code.
    pub fn builder() -> DeclarationBuilder {
        DeclarationBuilder::default()
    }

    /// The tenant tables, in the order of their declaration.
    pub fn tenant_tables(&self) -> &[TenantTable] {
        &self.tenant_tables
    }

    /// The tables that are the same for everybody.
    #[must_use]
    pub fn global_tables(&self) -> &[GlobalTable] {
        &self.global_tables
    }

    /// The name of the setting that carries the row key. `tenancy.row_key` unless declared.
    #[must_use]
    pub fn setting(&self) -> &str {
        self.setting.as_str()
    }

    pub(crate) const fn setting_name(&self) -> &Setting {
        &self.setting
    }

    /// Whether a row key can be compared in every tenant table.
    pub(crate) fn takes(&self, key: &RowKey) -> bool {
        self.tenant_tables.iter().all(|table| table.key == RowKeyType::of(key))
    }
}

/// Makes a [`Declaration`].
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct DeclarationBuilder {
    setting: Option<String>,
    tenant_tables: Vec<TenantTable>,
    global_tables: Vec<(String, String)>,
}

impl DeclarationBuilder {
    /// Declares a table whose rows belong to tenants.
    pub fn tenant_table(mut self, table: TenantTable) -> Self {
        self.tenant_tables.push(table);
        self
    }

    /// Declares a table that is the same for everybody.
    pub fn global_table(mut self, schema: &str, table: &str) -> Self {
        self.global_tables.push((schema.to_owned(), table.to_owned()));
        self
    }

    /// Names the setting, for a schema whose policies use one already: two lower-case words with a dot between.
    pub fn setting(mut self, name: &str) -> Self {
        self.setting = Some(name.to_owned());
        self
    }

    /// Checks it.
    ///
    /// # Errors
    /// [`DeclarationError`] for a name that Postgres can't hold, a table declared twice, or a setting of another form.
    pub fn build(self) -> Result<Declaration, DeclarationError> {
        let setting = self.setting.as_deref().map_or_else(|| Ok(Setting::default()), Setting::parse)?;
        let with_setting = |table| TenantTable { setting: setting.clone(), ..table };
        let tenant_tables = self.tenant_tables.into_iter().map(with_setting).collect();
        let global_tables = self
            .global_tables
            .iter()
            .map(|(schema, table)| Ok(GlobalTable { relation: Relation::parse(schema, table)? }))
            .collect::<Result<Vec<_>, DeclarationError>>()?;
        let declaration = Declaration { setting, tenant_tables, global_tables };
        let mut relations: Vec<&Relation> = declaration.relations().collect();
        relations.sort_unstable();
        match relations.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(DeclarationError::Twice { table: pair[0].to_string() }),
            None => Ok(declaration),
        }
    }
}

impl Declaration {
    fn relations(&self) -> impl Iterator<Item = &Relation> {
        let tenant = self.tenant_tables.iter().map(|table| &table.relation);
        tenant.chain(self.global_tables.iter().map(|table| &table.relation))
    }
}

/// A table whose rows belong to tenants.
#[derive(Clone, PartialEq, Eq)]
#[must_use]
pub struct TenantTable {
    pub(crate) relation: Relation,
    pub(crate) column: Name,
    pub(crate) key: RowKeyType,
    pub(crate) setting: Setting,
}

impl TenantTable {
    /// A table and its tenant column, named as the catalog holds them (unquoted, case and all).
    ///
    /// # Errors
    /// [`DeclarationError::Name`] for a name that the catalog can't hold.
    pub fn new(schema: &str, table: &str, column: &str, key: RowKeyType) -> Result<Self, DeclarationError> {
        let column = name(column, "column")?;
        Ok(Self { relation: Relation::parse(schema, table)?, column, key, setting: Setting::default() })
    }

    /// The schema's name.
    #[must_use]
    pub fn schema(&self) -> &str {
        self.relation.schema.as_str()
    }

    /// The table's name.
    #[must_use]
    pub fn table(&self) -> &str {
        self.relation.table.as_str()
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
}

impl fmt::Debug for TenantTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantTable({}, {:?} {})", self.relation, self.column, self.key.sql())
    }
}

/// A table that is the same for everybody: the service's role may read it without a tenant.
#[derive(Clone, PartialEq, Eq)]
pub struct GlobalTable {
    pub(crate) relation: Relation,
}

impl GlobalTable {
    /// The schema's name.
    #[must_use]
    pub fn schema(&self) -> &str {
        self.relation.schema.as_str()
    }

    /// The table's name.
    #[must_use]
    pub fn table(&self) -> &str {
        self.relation.table.as_str()
    }
}

impl fmt::Debug for GlobalTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GlobalTable({})", self.relation)
    }
}

/// The type of a tenant column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
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
    fn of(key: &RowKey) -> Option<Self> {
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

/// Schema and table.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Relation {
    pub(crate) schema: Name,
    pub(crate) table: Name,
}

impl Relation {
    fn parse(schema: &str, table: &str) -> Result<Self, DeclarationError> {
        Ok(Self { schema: name(schema, "schema")?, table: name(table, "table")? })
    }
}

/// As SQL: both parts quoted.
impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema.quoted(), self.table.quoted())
    }
}

/// The name of the setting, of an alphabet that needs no escaping anywhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Setting(String);

impl Default for Setting {
    fn default() -> Self {
        Self(DEFAULT_SETTING.to_owned())
    }
}

impl Setting {
    fn parse(text: &str) -> Result<Self, DeclarationError> {
        let word = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_lowercase())
                && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        };
        match text.split_once('.') {
            Some((class, rest)) if word(class) && word(rest) && text.len() <= MAX_SETTING => Ok(Self(text.to_owned())),
            _other => Err(DeclarationError::Setting),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// For `SET`.
    pub(crate) fn quoted(&self) -> String {
        quote_ident(&self.0)
    }
}

fn name(text: &str, what: &'static str) -> Result<Name, DeclarationError> {
    Name::parse(text).map_err(|e| DeclarationError::Name { what, why: e.to_string() })
}

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
    /// Not TOML of the expected form.
    #[error("tenancy.toml: {0}")]
    Toml(String),
}

/// The setting, unless declared otherwise.
pub(crate) const DEFAULT_SETTING: &str = "tenancy.row_key";
const MAX_SETTING: usize = 63;
