//! The `[database]` section of `tenancy.toml`.

use serde::Deserialize;

use super::{Declaration, DeclarationError, RowKeyType, TenantTable};

impl Declaration {
    /// Reads the `[database]` section; other sections of the file are other crates'.
    ///
    /// ```
    /// # use tenancy_pg::Declaration;
    /// let declaration = Declaration::from_toml(r#"
    ///     [database]
    ///     tenant-tables = [
    ///         { table = "note", column = "tenant_id", type = "uuid" },
    ///         { schema = "Old Shop", table = "Order", column = "Customer", type = "uuid" },
    ///         { table = "event", column = "tenant_id", type = "uuid", composite-keys = true, partitioned = true },
    ///         { table = "receipt", column = "tenant_id", type = "uuid", append-only = true },
    ///     ]
    ///     global-tables = [{ table = "country" }]
    ///
    ///     setting = "tenancy.row_key"              # this and what follows may be left out
    ///     signed = true                            # needs tenant columns of one type
    ///     registry = true                          # the same
    ///     report = [{ table = "note", columns = ["tenant_id", "created_at"] }]
    ///     trusted-functions = [{ function = "search(text, integer)", reason = "filters by the row key" }]
    ///     legacy-roles = [{ role = "monolith", until = "2027-03-31", reason = "billing still runs there" }]
    /// "#)?;
    /// assert_eq!(declaration.tenant_tables()[0].schema(), "public");
    /// # Ok::<(), tenancy_pg::DeclarationError>(())
    /// ```
    ///
    /// Names stand there as the catalog holds them, without SQL's quotes.
    ///
    /// # Errors
    /// [`DeclarationError`] for a key that is not known, a missing section, or as
    /// [`build`](crate::DeclarationBuilder::build).
    pub fn from_toml(text: &str) -> Result<Self, DeclarationError> {
        let file: File = ::toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            DeclarationError::Toml { line: before.matches('\n').count() + 1, why: error.message().to_owned() }
        })?;
        let Section {
            setting,
            signed,
            registry,
            tenant_tables,
            global_tables,
            report,
            legacy_roles,
            trusted_functions,
        } = file.database;
        let mut builder = Self::builder();
        builder.signed = signed;
        builder.registry = registry;
        if let Some(setting) = setting {
            builder = builder.setting(&setting);
        }
        for entry in tenant_tables {
            let TenantEntry { schema, table, column, key, composite_keys, partitioned, floor, append_only } = entry;
            let plain = TenantTable::new(&schema, &table, &column, key)?;
            builder = builder.tenant_table(TenantTable { composite_keys, partitioned, floor, append_only, ..plain });
        }
        for RelationEntry { schema, table } in global_tables {
            builder = builder.global_table(&schema, &table);
        }
        for ReportEntry { schema, table, columns } in report {
            builder = builder.report(&schema, &table, columns.iter().map(String::as_str));
        }
        for LegacyEntry { role, until, reason } in legacy_roles {
            builder = builder.legacy_role(&role, &until, &reason);
        }
        for FunctionEntry { schema, function, reason } in trusted_functions {
            builder = builder.trusted_function(&schema, &function, &reason);
        }
        builder.build()
    }
}

impl TenantTable {
    /// The table as an entry of `tenant-tables` in the `[database]` section.
    ///
    /// ```
    /// use tenancy_pg::{RowKeyType, TenantTable};
    ///
    /// let receipts = TenantTable::new("public", "receipt", "tenant_id", RowKeyType::Uuid)?.append_only();
    /// let entry = r#"{ table = "receipt", column = "tenant_id", type = "uuid", append-only = true }"#;
    /// assert_eq!(receipts.to_toml(), entry);
    /// # Ok::<(), tenancy_pg::DeclarationError>(())
    /// ```
    #[must_use]
    pub fn to_toml(&self) -> String {
        let Self { relation, column, key, setting: _, signed: _, composite_keys, partitioned, floor, append_only } =
            self;
        let schema = match relation.schema() {
            "public" => String::new(),
            schema => format!("schema = {}, ", quoted(schema)),
        };
        let said = [
            (*composite_keys, "composite-keys"),
            (*partitioned, "partitioned"),
            (*floor, "floor"),
            (*append_only, "append-only"),
        ];
        let said: String = said.into_iter().filter(|(is, _)| *is).map(|(_, name)| format!(", {name} = true")).collect();
        format!(
            "{{ {schema}table = {}, column = {}, type = {}{said} }}",
            quoted(relation.table()),
            quoted(column.as_str()),
            quoted(key.sql())
        )
    }
}

/// As a basic string of TOML on one line. JSON writes strings the same way, but for one character.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[derive(Deserialize)]
struct File {
    database: Section,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Section {
    setting: Option<String>,
    #[serde(default)]
    signed: bool,
    #[serde(default)]
    registry: bool,
    #[serde(default)]
    tenant_tables: Vec<TenantEntry>,
    #[serde(default)]
    global_tables: Vec<RelationEntry>,
    #[serde(default)]
    report: Vec<ReportEntry>,
    #[serde(default)]
    legacy_roles: Vec<LegacyEntry>,
    #[serde(default)]
    trusted_functions: Vec<FunctionEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct TenantEntry {
    #[serde(default = "public")]
    schema: String,
    table: String,
    column: String,
    #[serde(rename = "type")]
    key: RowKeyType,
    #[serde(default)]
    composite_keys: bool,
    #[serde(default)]
    partitioned: bool,
    #[serde(default)]
    floor: bool,
    #[serde(default)]
    append_only: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionEntry {
    #[serde(default = "public")]
    schema: String,
    function: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RelationEntry {
    #[serde(default = "public")]
    schema: String,
    table: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportEntry {
    #[serde(default = "public")]
    schema: String,
    table: String,
    columns: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LegacyEntry {
    role: String,
    until: String,
    reason: String,
}

fn public() -> String {
    "public".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_is_refused() {
        for (text, part) in [
            ("", "database"),
            ("[database]\ntenant_tables = []", "tenant_tables"),
            ("[database]\ntenant-tables = [{ table = 't', column = 'c', type = 'int' }]", "int"),
            ("[database]\ntenant-tables = [{ table = 't', type = 'uuid' }]", "line 2: missing field `column`"),
            ("[database]\n\nsined = true", "line 3: unknown field `sined`"),
            ("[database]\nsigned = yes", "line 2: "),
            ("[database]\nglobal-tables = [{ table = '' }]", "empty"),
            ("[database]\nglobal-tables = [{ table = 'a' }, { table = 'a' }]", "twice"),
            ("[database]\nlegacy-roles = [{ role = 'old', until = '2027-02-29', reason = 'r' }]", "day"),
            ("[database]\nlegacy-roles = [{ role = 'old', until = '2027-02-28', reason = ' ' }]", "reason"),
            ("[database]\nlegacy-roles = [{ role = 'old', until = '2027-02-28' }]", "reason"),
            (
                "[database]\nlegacy-roles = [{ role = 'a', until = '2027-02-28', reason = 'r' }, \
                 { role = 'a', until = '2027-02-28', reason = 'r' }]",
                "twice",
            ),
            ("[database]\nreport = [{ table = 'a', columns = ['x'] }]\nglobal-tables = [{ table = 'a' }]", "twice"),
            ("[database]\nreport = [{ table = 'a' }]", "columns"),
            ("[database]\nreport = [{ table = 'a', columns = [] }]", "no column"),
            ("[database]\nreport = [{ table = 'a', columns = ['x', 'x'] }]", "column twice"),
            (
                "[database]\nreport = [{ table = 't', columns = ['c'] }]\n\
                 tenant-tables = [{ table = 't', column = 'c', type = 'text', floor = true }]",
                "floor",
            ),
            (
                "[database]\nlegacy-roles = [{ role = 'a', until = '2027-02-28', reason = 'r' }]\n\
                 tenant-tables = [{ table = 't', column = 'c', type = 'text', floor = true }]",
                "floor",
            ),
            (
                "[database]\nsigned = true\ntenant-tables = [{ table = 't', column = 'c', type = 'text' }, \
                 { table = 'u', column = 'c', type = 'uuid' }]",
                "one type",
            ),
            ("[database]\ntrusted-functions = [{ function = 'f', reason = 'r' }]", "argument types"),
            ("[database]\ntrusted-functions = [{ function = 'f()', reason = '' }]", "reason"),
            ("[database]\nsetting = 'row_key'", "dot"),
            ("[database]\nsetting = \"a.b'; drop\"", "dot"),
        ] {
            let error = Declaration::from_toml(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn code_and_file_say_the_same() {
        let table = |name| TenantTable::new("public", name, "tenant_id", RowKeyType::BigInt).unwrap();
        let code = Declaration::builder()
            .signed()
            .registry()
            .tenant_table(table("note").composite_keys().partitioned())
            .tenant_table(table("event").append_only())
            .report("public", "note", ["id", "tenant_id"])
            .report("stats", "notes_by_month", ["month"])
            .legacy_role("monolith", "2027-03-31", "billing still runs there")
            .trusted_function("app", "search(text, integer)", "filters by the row key");
        let file = Declaration::from_toml(
            "[database]
             signed = true
             registry = true
             tenant-tables = [
                 { table = 'note', column = 'tenant_id', type = 'bigint', composite-keys = true, partitioned = true },
                 { table = 'event', column = 'tenant_id', type = 'bigint', append-only = true },
             ]
             report = [
                 { table = 'note', columns = ['tenant_id', 'id'] },
                 { schema = 'stats', table = 'notes_by_month', columns = ['month'] },
             ]
             trusted-functions = [
                 { schema = 'app', function = 'search(text, integer)', reason = 'filters by the row key' },
             ]
             legacy-roles = [{ role = 'monolith', until = '2027-03-31', reason = 'billing still runs there' }]",
        );
        assert_eq!(code.build(), file);
        let floor =
            "[database]\ntenant-tables = [{ table = 'note', column = 'tenant_id', type = 'bigint', floor = true }]";
        let code = Declaration::builder().tenant_table(table("note").floor()).build();
        assert_eq!(code, Declaration::from_toml(floor));
    }

    #[test]
    fn an_entry_is_read_as_what_it_was() {
        let plain = |name| TenantTable::new("Old \"Shop\"", name, "Kunde\u{7f}\n", RowKeyType::BigInt).unwrap();
        for table in [
            plain("a"),
            plain("b").append_only(),
            plain("c").floor().partitioned().composite_keys(),
            TenantTable::new("public", "d", "t", RowKeyType::Text).unwrap(),
        ] {
            let text = format!("[database]\ntenant-tables = [{}]", table.to_toml());
            assert_eq!(Declaration::from_toml(&text).unwrap().tenant_tables(), [table], "{text}");
        }
    }

    #[test]
    fn other_sections_are_left_alone() {
        let text = "[realm]\nname = 'prod'\n[database]\nglobal-tables = [{ table = 'country' }]";
        assert_eq!(Declaration::from_toml(text).unwrap().global_tables().len(), 1);
    }
}
