//! What a service says about its tables, in code or in `tenancy.toml`.

mod error;
mod legacy;
mod relation;
mod report;
mod setting;
mod table;
mod toml;
mod trusted;

use tenancy_core::RowKey;

pub use error::DeclarationError;
pub use legacy::LegacyRole;
pub use relation::Relation;
pub use report::ReportRelation;
pub(crate) use setting::{DEFAULT_SETTING, Setting};
pub use table::{RowKeyType, TenantTable};
pub(crate) use toml::quoted;
pub use trusted::TrustedFunction;

/// The tables of a service: which hold tenants' rows, and which are the same for everybody.
///
/// The inspection compares it with the catalog and knows no further kind: a relation that the service can reach and that
/// is not declared is a finding. The generated migrations come from it too.
///
/// ```
/// use tenancy_pg::{Declaration, RowKeyType, TenantTable};
///
/// let declaration = Declaration::builder()
///     .tenant_table(TenantTable::new("public", "note", "tenant_id", RowKeyType::Uuid)?)
///     .global_table("public", "country")
///     .report("public", "note", ["tenant_id", "created_at"])
///     .build()?;
/// assert_eq!(declaration.tenant_tables().len(), 1);
/// # Ok::<(), tenancy_pg::DeclarationError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    setting: Setting,
    signed: bool,
    registry: bool,
    tenant_tables: Vec<TenantTable>,
    global_tables: Vec<Relation>,
    report_relations: Vec<ReportRelation>,
    legacy_roles: Vec<LegacyRole>,
    trusted_functions: Vec<TrustedFunction>,
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

    /// The tables that are the same for everybody: the service's role may read them without a tenant.
    #[must_use]
    pub fn global_tables(&self) -> &[Relation] {
        &self.global_tables
    }

    /// The relations that a cross-tenant grant may read.
    #[must_use]
    pub fn report_relations(&self) -> &[ReportRelation] {
        &self.report_relations
    }

    /// What is declared of a relation as a report.
    pub(crate) fn report_of(&self, relation: &Relation) -> Option<&ReportRelation> {
        self.report_relations.iter().find(|report| report.relation == *relation)
    }

    /// The same with no function that anybody answers for: what the role that reads reports is inspected by.
    pub(crate) fn trusting_nothing(&self) -> Self {
        Self { trusted_functions: Vec::new(), ..self.clone() }
    }

    /// The roles of before the adoption.
    #[must_use]
    pub fn legacy_roles(&self) -> &[LegacyRole] {
        &self.legacy_roles
    }

    /// The functions that run in their owner's name and were read by somebody.
    #[must_use]
    pub fn trusted_functions(&self) -> &[TrustedFunction] {
        &self.trusted_functions
    }

    /// The name of the setting that carries the row key. `tenancy.row_key` unless declared.
    #[must_use]
    pub fn setting(&self) -> &str {
        self.setting.as_str()
    }

    /// Whether the policies take the row key from a signed seal, which injected SQL can't forge.
    #[must_use]
    pub const fn signed(&self) -> bool {
        self.signed
    }

    /// Whether tenant tables refer to the registry of tenants, `tenancy.tenant`.
    #[must_use]
    pub const fn registry(&self) -> bool {
        self.registry
    }

    /// The type of every tenant column, if they have one in common.
    pub(crate) fn row_key_type(&self) -> Option<RowKeyType> {
        let first = self.tenant_tables.first()?.key;
        self.tenant_tables.iter().all(|table| table.key == first).then_some(first)
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
    signed: bool,
    registry: bool,
    tenant_tables: Vec<TenantTable>,
    global_tables: Vec<(String, String)>,
    report_relations: Vec<(String, String, Vec<String>)>,
    legacy_roles: Vec<[String; 3]>,
    trusted_functions: Vec<[String; 3]>,
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

    /// Declares columns of a relation that may be read across tenants, with a cross-tenant grant and on a role of its own
    /// only, see [`Database::across`](crate::Database::across). The relation is a tenant table, one that keeps numbers per
    /// tenant say, or a view with `security_invoker` over such: anything else could not be held to one tenant.
    ///
    /// # Cross-tenant access
    /// Whoever holds a grant for every tenant reads these columns of every tenant's rows. Name what counts and
    /// aggregates need, and no content.
    pub fn report<'c>(mut self, schema: &str, relation: &str, columns: impl IntoIterator<Item = &'c str>) -> Self {
        let columns = columns.into_iter().map(str::to_owned).collect();
        self.report_relations.push((schema.to_owned(), relation.to_owned(), columns));
        self
    }

    /// Declares a role of before the adoption, which reads and writes every row until the beginning of a day
    /// (`YYYY-MM-DD`, UTC). It must not be the service's role of now.
    pub fn legacy_role(mut self, role: &str, until: &str, reason: &str) -> Self {
        self.legacy_roles.push([role, until, reason].map(str::to_owned));
        self
    }

    /// Declares a `SECURITY DEFINER` or `LEAKPROOF` function that somebody read and answers for, by name and argument
    /// types: `search(text, integer)`, types of other schemas than the server's with theirs.
    ///
    /// # Cross-tenant access
    /// The function runs in its owner's name, whom policies may not hold: what keeps tenants apart in it is its body.
    pub fn trusted_function(mut self, schema: &str, signature: &str, reason: &str) -> Self {
        self.trusted_functions.push([schema, signature, reason].map(str::to_owned));
        self
    }

    /// Names the setting, for a schema whose policies use one already: two lower-case words with a dot between.
    pub fn setting(mut self, name: &str) -> Self {
        self.setting = Some(name.to_owned());
        self
    }

    /// Takes the row key from a signed seal instead of a setting.
    pub const fn signed(mut self) -> Self {
        self.signed = true;
        self
    }

    /// Wants a foreign key from each tenant table to the registry of tenants, `tenancy.tenant (row_key)`: a late writer
    /// of an erased tenant then fails instead of leaving rows that nobody looks for.
    pub const fn registry(mut self) -> Self {
        self.registry = true;
        self
    }

    /// Checks it.
    ///
    /// # Errors
    /// [`DeclarationError`] for a name that Postgres can't hold, a table declared twice, a setting of another form, and
    /// parts that do not go together.
    pub fn build(self) -> Result<Declaration, DeclarationError> {
        let Self {
            setting,
            signed,
            registry,
            tenant_tables,
            global_tables,
            report_relations,
            legacy_roles,
            trusted_functions,
        } = self;
        let setting = setting.as_deref().map_or_else(|| Ok(Setting::default()), Setting::parse)?;
        let of_all = |table| TenantTable { setting: setting.clone(), signed, ..table };
        let declaration = Declaration {
            tenant_tables: tenant_tables.into_iter().map(of_all).collect(),
            global_tables: relations(&global_tables)?,
            report_relations: report_relations
                .iter()
                .map(|(schema, table, columns)| ReportRelation::parse(schema, table, columns))
                .collect::<Result<_, _>>()?,
            legacy_roles: legacy_roles
                .iter()
                .map(|[role, until, reason]| LegacyRole::parse(role, until, reason))
                .collect::<Result<_, _>>()?,
            trusted_functions: trusted_functions
                .iter()
                .map(|[schema, signature, reason]| TrustedFunction::parse(schema, signature, reason))
                .collect::<Result<_, _>>()?,
            setting,
            signed,
            registry,
        };
        declaration.fits_together()?;
        Ok(declaration)
    }
}

impl Declaration {
    fn fits_together(&self) -> Result<(), DeclarationError> {
        let tenant = || self.tenant_tables.iter().map(|table| &table.relation);
        // A report may read a tenant table, and so must not be a second declaration of it.
        for mut all in [
            tenant().chain(&self.global_tables).collect::<Vec<_>>(),
            self.report_relations.iter().map(ReportRelation::relation).chain(&self.global_tables).collect(),
        ] {
            all.sort_unstable();
            if let Some(pair) = all.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(DeclarationError::Twice { table: pair[0].to_string() });
            }
        }
        for (at, role) in self.legacy_roles.iter().enumerate() {
            if self.legacy_roles[..at].iter().any(|earlier| earlier.role == role.role) {
                let why = "is declared twice";
                return Err(DeclarationError::LegacyRole { role: role.role().to_owned(), why });
            }
        }
        let read_past =
            |table: &TenantTable| !self.legacy_roles.is_empty() || self.report_of(&table.relation).is_some();
        if let Some(table) = self.tenant_tables.iter().find(|table| table.floor && read_past(table)) {
            return Err(DeclarationError::Floor { table: table.relation.to_string() });
        }
        if (self.signed || self.registry) && !self.tenant_tables.is_empty() && self.row_key_type().is_none() {
            return Err(DeclarationError::MixedKeys);
        }
        Ok(())
    }
}

fn relations(names: &[(String, String)]) -> Result<Vec<Relation>, DeclarationError> {
    names.iter().map(|(schema, table)| Relation::parse(schema, table)).collect()
}
