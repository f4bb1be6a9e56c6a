//! The SQL that makes a table a tenant table.

use crate::declaration::{Declaration, TenantTable};
use crate::ident::{quote_ident, quote_text};

/// The statements that protect every declared tenant table, for a migration that the owner runs.
///
/// Idempotent. Nobody needs a right to use the setting itself: any role may set a custom one, which is why the closing
/// batch of every transaction reads it back.
#[must_use]
pub fn policy_sql(declaration: &Declaration) -> String {
    declaration.tenant_tables().iter().map(TenantTable::policy_sql).collect()
}

/// What the service's role needs: reading and writing in tenant tables, reading in global ones, and nothing that goes
/// past row level security (`TRUNCATE`, `REFERENCES`, `TRIGGER`). Identity columns need no more; a sequence of its own does.
#[must_use]
pub fn grant_sql(declaration: &Declaration, role: &str) -> String {
    let role = quote_ident(role);
    let mut sql = String::new();
    let tenant = declaration.tenant_tables().iter().map(|t| (&t.relation, "SELECT, INSERT, UPDATE, DELETE"));
    let global = declaration.global_tables().iter().map(|relation| (relation, "SELECT"));
    for (relation, rights) in tenant.chain(global) {
        sql += &format!(
            "GRANT USAGE ON SCHEMA {} TO {role};\nREVOKE ALL ON TABLE {relation} FROM {role};\n\
             GRANT {rights} ON TABLE {relation} TO {role};\n",
            relation.schema.quoted()
        );
    }
    sql
}

/// The statements that close what every new database leaves open to every role: large objects, which have no policies;
/// on servers before 15 the right to create in `public`; temporary objects, which a later statement of the same session
/// meets in front of tables; new plpgsql code, that is `DO` blocks; `set_config`; and ending or interrupting other
/// sessions, which share the role.
///
/// For a superuser, once in each database of the service: neither the service's role nor the owner of its tables may
/// revoke them. Idempotent. Grant again what a role that is not the service's needs: a role that makes plpgsql functions
/// (`GRANT USAGE ON LANGUAGE plpgsql TO own`), or one that runs `pg_dump` without being a superuser, which calls
/// `set_config`. Functions and triggers that exist run on as before, whoever calls them, and so do extensions.
#[must_use]
pub fn hardening_sql() -> String {
    let functions: Vec<String> = LARGE_OBJECTS.iter().map(|function| format!("    pg_catalog.{function}")).collect();
    format!(
        "REVOKE EXECUTE ON FUNCTION\n{}\nFROM PUBLIC;\nREVOKE CREATE ON SCHEMA public FROM PUBLIC;\n{}",
        functions.join(",\n"),
        crate::signed::hardening_sql()
    )
}

impl TenantTable {
    /// The statements that protect this table: enable and force row level security, and one policy for every command
    /// and every role.
    ///
    /// The comparison is a bare equality with the cast on the setting's side, so an index that leads with the column
    /// serves it. `NULLIF` because a custom setting that was ever set locally comes back as the empty text, not as
    /// NULL (PostgREST 1642), which no uuid is. `WITH CHECK` is written out though Postgres would use `USING`.
    #[must_use]
    pub fn policy_sql(&self) -> String {
        let table = &self.relation;
        let bound = self.bound_sql();
        let policy = quote_ident(POLICY);
        format!(
            "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;\n\
             ALTER TABLE {table} FORCE ROW LEVEL SECURITY;\n\
             DROP POLICY IF EXISTS {policy} ON {table};\n\
             CREATE POLICY {policy} ON {table} FOR ALL TO PUBLIC\n    USING ({bound})\n    WITH CHECK ({bound});\n"
        )
    }

    /// `column = the row key`. In signed mode the function that verifies the seal is behind a sub-select, so that it runs
    /// once a statement and parallel plans stay possible.
    fn bound_sql(&self) -> String {
        let column = self.column.quoted();
        if self.signed {
            return format!("{column} = (SELECT tenancy.signed_row_key_{}())", self.key.sql());
        }
        let setting = quote_text(self.setting.as_str());
        let key = format!("NULLIF(current_setting({setting}, true), '')");
        format!("{column} = {key}::{}", self.key.sql())
    }
}

/// The name of the generated policy.
pub(crate) const POLICY: &str = "tenancy_row_key";
/// What makes, reads, changes or removes large objects; closing and seeking do nothing without them.
pub(crate) const LARGE_OBJECTS: [&str; 15] = [
    "lo_creat(integer)",
    "lo_create(oid)",
    "lo_from_bytea(oid, bytea)",
    "lo_get(oid)",
    "lo_get(oid, bigint, integer)",
    "lo_put(oid, bigint, bytea)",
    "lo_open(oid, integer)",
    "loread(integer, integer)",
    "lowrite(integer, bytea)",
    "lo_truncate(integer, integer)",
    "lo_truncate64(integer, bigint)",
    "lo_unlink(oid)",
    "lo_import(text)",
    "lo_import(text, oid)",
    "lo_export(oid, text)",
];

#[cfg(test)]
mod tests {
    use crate::{Declaration, RowKeyType, TenantTable};

    #[test]
    fn the_generated_sql_is_what_the_documentation_says() {
        let table = TenantTable::new("Old \"Shop\"", "Bestellung ä", "Kunde", RowKeyType::BigInt).unwrap();
        let declaration = Declaration::builder().tenant_table(table).global_table("public", "country").build().unwrap();
        assert_eq!(
            super::policy_sql(&declaration),
            r#"ALTER TABLE "Old ""Shop"""."Bestellung ä" ENABLE ROW LEVEL SECURITY;
ALTER TABLE "Old ""Shop"""."Bestellung ä" FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS "tenancy_row_key" ON "Old ""Shop"""."Bestellung ä";
CREATE POLICY "tenancy_row_key" ON "Old ""Shop"""."Bestellung ä" FOR ALL TO PUBLIC
    USING ("Kunde" = NULLIF(current_setting('tenancy.row_key', true), '')::bigint)
    WITH CHECK ("Kunde" = NULLIF(current_setting('tenancy.row_key', true), '')::bigint);
"#
        );
        let signed =
            Declaration::builder().signed().tenant_table(declaration.tenant_tables()[0].clone()).build().unwrap();
        let bound = "\"Kunde\" = (SELECT tenancy.signed_row_key_bigint())";
        let sql = super::policy_sql(&signed);
        assert!(sql.contains(&format!("USING ({bound})\n    WITH CHECK ({bound})")), "{sql}");
        let grants = super::grant_sql(&declaration, "app");
        assert!(grants.contains("GRANT SELECT ON TABLE \"public\".\"country\" TO \"app\";"), "{grants}");
    }
}
