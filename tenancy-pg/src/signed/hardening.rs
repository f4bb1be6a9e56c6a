//! What every new database leaves open to every role, beyond large objects.

/// The statements that close it, for a superuser. Part of [`hardening_sql`](crate::hardening_sql).
pub(crate) fn hardening_sql() -> String {
    let functions: Vec<String> = FUNCTIONS.iter().map(|function| format!("    pg_catalog.{function}")).collect();
    format!(
        "REVOKE EXECUTE ON FUNCTION\n{}\nFROM PUBLIC;\n\
         REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC;\n{NO_TEMP}",
        functions.join(",\n")
    )
}

/// Changing settings from within a query, and ending or interrupting one's neighbours, who share the role.
pub(crate) const FUNCTIONS: [&str; 3] =
    ["set_config(text, text, boolean)", "pg_terminate_backend(integer, bigint)", "pg_cancel_backend(integer)"];

/// A temporary view in front of a table would meet the next statement of the same session.
const NO_TEMP: &str = "DO $tenancy$ BEGIN
    EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
END $tenancy$;
";
