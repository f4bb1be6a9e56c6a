//! The `[database]` section of `tenancy.toml`.

use serde::Deserialize;

use crate::declaration::{Declaration, DeclarationError, RowKeyType, TenantTable};

impl Declaration {
    /// Reads the `[database]` section; other sections of the file are other crates'.
    ///
    /// ```
    /// # use tenancy_pg::Declaration;
    /// let declaration = Declaration::from_toml(r#"
    ///     [database]
    ///     setting = "tenancy.row_key"            # optional
    ///     tenant-tables = [
    ///         { table = "note", column = "tenant_id", type = "uuid" },
    ///         { schema = "Old Shop", table = "Order", column = "Customer", type = "bigint" },
    ///     ]
    ///     global-tables = [{ table = "country" }]
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
        let file: File = toml::from_str(text).map_err(|e| DeclarationError::Toml(e.message().to_owned()))?;
        let Section { setting, tenant_tables, global_tables } = file.database;
        let mut builder = Self::builder();
        if let Some(setting) = setting {
            builder = builder.setting(&setting);
        }
        for TenantEntry { schema, table, column, key } in tenant_tables {
            builder = builder.tenant_table(TenantTable::new(&schema, &table, &column, key)?);
        }
        for GlobalEntry { schema, table } in global_tables {
            builder = builder.global_table(&schema, &table);
        }
        builder.build()
    }
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
    tenant_tables: Vec<TenantEntry>,
    #[serde(default)]
    global_tables: Vec<GlobalEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TenantEntry {
    #[serde(default = "public")]
    schema: String,
    table: String,
    column: String,
    #[serde(rename = "type")]
    key: RowKeyType,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GlobalEntry {
    #[serde(default = "public")]
    schema: String,
    table: String,
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
            ("[database]\ntenant-tables = [{ table = 't', type = 'uuid' }]", "column"),
            ("[database]\nglobal-tables = [{ table = '' }]", "empty"),
            ("[database]\nglobal-tables = [{ table = 'a' }, { table = 'a' }]", "twice"),
            ("[database]\nsetting = 'row_key'", "dot"),
            ("[database]\nsetting = \"a.b'; drop\"", "dot"),
        ] {
            let error = Declaration::from_toml(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn other_sections_are_left_alone() {
        let text = "[realm]\nname = 'prod'\n[database]\nglobal-tables = [{ table = 'country' }]";
        assert_eq!(Declaration::from_toml(text).unwrap().global_tables().len(), 1);
    }
}
