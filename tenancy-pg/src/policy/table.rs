//! The SQL that makes a table a tenant table.

use super::names::{FLOOR, POLICY, REPORT, legacy_policy};
use crate::declaration::{Declaration, LegacyRole, TenantTable};
use crate::ident::{quote_ident, quote_role, quote_text};
use crate::signed::{EVERY, REACH_SETTING, Verifier};

/// The statements that protect every declared tenant table, for a migration that the owner runs: the short form of
/// [`Migration::of`](crate::Migration::of), with one plain policy a table and nothing else.
///
/// Idempotent. Nobody needs a right to use the setting itself: any role may set a custom one, which is why the closing
/// batch of every transaction reads it back.
#[must_use]
pub fn policy_sql(declaration: &Declaration) -> String {
    declaration.tenant_tables().iter().map(TenantTable::policy_sql).collect()
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
        let create = self.create_policy_sql();
        format!(
            "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;\n\
             ALTER TABLE {table} FORCE ROW LEVEL SECURITY;\n\
             DROP POLICY IF EXISTS {} ON {table};\n{create}",
            quote_ident(POLICY)
        )
    }

    /// The condition that names the row key as parameter `$number`, for a `WHERE`: `"tenant_id" = $1::uuid`.
    ///
    /// Row level security adds its own whatever a statement says. On a table with many partitions that one is too late:
    /// its value is known when the statement runs, so the server plans and locks every partition first (500 of them:
    /// tens of milliseconds and a thousand locks). A parameter is known when the statement is planned.
    ///
    /// ```
    /// use tenancy_pg::{RowKeyType, TenantTable};
    ///
    /// let event = TenantTable::new("public", "event", "tenant_id", RowKeyType::Uuid)?;
    /// let sql = format!("SELECT body FROM event WHERE {} AND id = $2", event.row_key_is(1));
    /// assert_eq!(sql, r#"SELECT body FROM event WHERE "tenant_id" = $1::uuid AND id = $2"#);
    /// # Ok::<(), tenancy_pg::DeclarationError>(())
    /// ```
    #[must_use]
    pub fn row_key_is(&self, number: u16) -> String {
        format!("{} = ${number}::{}", self.column.quoted(), self.key.sql())
    }

    /// The permissive policy that lets one tenant's rows through.
    pub(super) fn create_policy_sql(&self) -> String {
        let (bound, table, policy) = (self.bound_sql(), &self.relation, quote_ident(POLICY));
        format!("CREATE POLICY {policy} ON {table} FOR ALL TO PUBLIC\n    USING ({bound})\n    WITH CHECK ({bound});\n")
    }

    /// The restrictive policy that no other can widen.
    pub(super) fn create_floor_sql(&self) -> String {
        let (bound, table, policy) = (self.bound_sql(), &self.relation, quote_ident(FLOOR));
        format!(
            "CREATE POLICY {policy} ON {table} AS RESTRICTIVE FOR ALL TO PUBLIC\n    USING ({bound})\n    \
             WITH CHECK ({bound});\n"
        )
    }

    /// The permissive policy of a legacy role. It ends by itself: the server's clock is in it.
    pub(super) fn create_legacy_sql(&self, legacy: &LegacyRole) -> String {
        let (table, policy) = (&self.relation, quote_ident(&legacy_policy(legacy)));
        let until = format!("now() < {}::timestamptz", quote_text(&legacy.ends_at()));
        format!(
            "CREATE POLICY {policy} ON {table} FOR ALL TO {}\n    USING ({until})\n    WITH CHECK ({until});\n",
            legacy.role.quoted()
        )
    }

    /// The permissive policy of the role that reads reports: every row, where the scope reaches every tenant. One tenant's
    /// rows the policy of everybody lets through. With neither there is no row.
    pub(crate) fn create_report_sql(&self, role: &str) -> String {
        let (table, policy, every) = (&self.relation, quote_ident(REPORT), self.every_sql());
        format!("CREATE POLICY {policy} ON {table} FOR SELECT TO {}\n    USING ({every});\n", quote_role(role))
    }

    /// Whether the scope reaches every tenant, as the server knows it.
    fn every_sql(&self) -> String {
        if self.signed {
            format!("(SELECT {})", Verifier::Every.call())
        } else {
            format!("current_setting({}, true) = {}", quote_text(REACH_SETTING), quote_text(EVERY))
        }
    }

    /// `column = the row key`. In signed mode the function that verifies the seal is behind a sub-select, so that it runs
    /// once a statement and parallel plans stay possible.
    pub(crate) fn bound_sql(&self) -> String {
        format!("{} = {}", self.column.quoted(), self.row_key_sql())
    }

    /// The row key of the scope, as the server knows it.
    pub(crate) fn row_key_sql(&self) -> String {
        if self.signed {
            return format!("(SELECT tenancy.signed_row_key_{}())", self.key.sql());
        }
        let setting = quote_text(self.setting.as_str());
        format!("NULLIF(current_setting({setting}, true), '')::{}", self.key.sql())
    }
}

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
        let grants = crate::grant_sql(&declaration, "app");
        assert!(grants.contains("GRANT SELECT ON TABLE \"public\".\"country\" TO \"app\";"), "{grants}");
    }
}
