//! What every new database leaves open to every role, beyond large objects.

use crate::ident::{quote_role, quote_text};

/// The statements that close it, and leave it open to some roles by name, for a superuser. Part of
/// [`hardening_sql_keeping`](crate::hardening_sql_keeping).
pub(crate) fn hardening_sql(keepers: &[&str]) -> String {
    let mut sql = change("REVOKE", "FROM PUBLIC");
    // Everybody is no role that keeps anything.
    let keepers: Vec<String> = keepers.iter().filter(|role| **role != "public").map(|role| quote_role(role)).collect();
    if !keepers.is_empty() {
        sql += &change("GRANT", &format!("TO {}", keepers.join(", ")));
    }
    sql
}

fn change(verb: &str, whose: &str) -> String {
    let functions: Vec<String> = functions().map(|function| format!("    pg_catalog.{function}")).collect();
    // A temporary view in front of a table would meet the next statement of the same session.
    let temporary = format!("{verb} TEMPORARY ON DATABASE %I {}", whose.replace('%', "%%"));
    let here =
        format!("BEGIN EXECUTE pg_catalog.format({}, pg_catalog.current_database()); END", quote_text(&temporary));
    format!(
        "{verb} EXECUTE ON FUNCTION\n{}\n{whose};\n{verb} USAGE ON LANGUAGE plpgsql {whose};\nDO {};\n",
        functions.join(",\n"),
        quote_text(&here)
    )
}

/// The functions that are closed.
pub(crate) fn functions() -> impl Iterator<Item = &'static str> {
    REACH_OUT.iter().chain(RUN_TEXT).copied()
}

/// Changing settings from within a query, and ending or interrupting one's neighbours, who share the role.
const REACH_OUT: &[&str] =
    &["set_config(text, text, boolean)", "pg_terminate_backend(integer, bigint)", "pg_cancel_backend(integer)"];

/// Running a text as SQL, or what a text, name or cursor stands for: out of the statement guard's sight, and by way of a
/// value, which a service believes to be harmless.
const RUN_TEXT: &[&str] = &[
    "query_to_xml(text, boolean, boolean, text)",
    "query_to_xmlschema(text, boolean, boolean, text)",
    "query_to_xml_and_xmlschema(text, boolean, boolean, text)",
    "cursor_to_xml(refcursor, integer, boolean, boolean, text)",
    "cursor_to_xmlschema(refcursor, boolean, boolean, text)",
    "table_to_xml(regclass, boolean, boolean, text)",
    "table_to_xmlschema(regclass, boolean, boolean, text)",
    "table_to_xml_and_xmlschema(regclass, boolean, boolean, text)",
    "schema_to_xml(name, boolean, boolean, text)",
    "schema_to_xmlschema(name, boolean, boolean, text)",
    "schema_to_xml_and_xmlschema(name, boolean, boolean, text)",
    "database_to_xml(boolean, boolean, text)",
    "database_to_xmlschema(boolean, boolean, text)",
    "database_to_xml_and_xmlschema(boolean, boolean, text)",
    "ts_stat(text)",
    "ts_stat(text, text)",
    "ts_rewrite(tsquery, text)",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{Forbidden, check};

    #[test]
    fn the_guard_refuses_the_name_of_each_function_that_runs_text() {
        for function in RUN_TEXT {
            let name = function.split('(').next().unwrap_or_default();
            assert_eq!(check(&format!("select {name}('x')")), Err(Forbidden::Hidden), "{name}");
        }
    }

    #[test]
    fn roles_keep_it_by_their_own_name_alone() {
        let nobody = hardening_sql(&[]);
        assert!(!nobody.contains("GRANT"), "{nobody}");
        assert_eq!(hardening_sql(&["public"]), nobody);
        let some = hardening_sql(&["own", "public", "100% \"me\""]);
        assert_eq!(some.matches("GRANT ").count(), 3, "{some}");
        assert!(some.contains("\nGRANT USAGE ON LANGUAGE plpgsql TO \"own\", \"100% \"\"me\"\"\";\n"), "{some}");
        assert!(some.contains("%I TO \"own\", \"100%% \"\"me\"\"\"''"), "{some}");
        assert!(!some.contains("TO PUBLIC") && !some.contains("\"public\""), "{some}");
    }
}
