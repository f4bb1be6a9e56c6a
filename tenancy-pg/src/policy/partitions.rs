//! Partitions: a statement that names one is held by the partition's own policies and rights.

use super::names::POLICY;
use super::roles::Roles;
use super::step::{Locks, Step};
use crate::declaration::TenantTable;
use crate::ident::{quote_ident, quote_text};

/// Protects the partitions that are there when it runs, however many.
pub(super) fn all(table: &TenantTable, roles: &Roles) -> Step {
    let (policy, bound) = (quote_ident(POLICY), table.bound_sql());
    let app = quote_ident(roles.app());
    let protect = [
        "ALTER TABLE %1$s ENABLE ROW LEVEL SECURITY".to_owned(),
        "ALTER TABLE %1$s FORCE ROW LEVEL SECURITY".to_owned(),
        format!("DROP POLICY IF EXISTS {policy} ON %1$s"),
        format!("CREATE POLICY {policy} ON %1$s FOR ALL TO PUBLIC USING ({bound}) WITH CHECK ({bound})"),
        format!("REVOKE ALL ON TABLE %1$s FROM PUBLIC, {app}"),
    ];
    let bare = [
        format!("DROP POLICY IF EXISTS {policy} ON %1$s"),
        "ALTER TABLE %1$s NO FORCE ROW LEVEL SECURITY".to_owned(),
        "ALTER TABLE %1$s DISABLE ROW LEVEL SECURITY".to_owned(),
    ];
    Step::new(
        Locks::Instant,
        format!("the policies of {} do not hold a statement that names a partition", table.relation),
        for_each(table, &protect),
        for_each(table, &bare),
    )
}

/// `%1$s` is the partition. The names in the statements go through `format` as arguments, so that a per cent sign in one
/// is a per cent sign.
fn for_each(table: &TenantTable, statements: &[String]) -> String {
    let parent = quote_text(&table.relation.to_string());
    let each: String = statements
        .iter()
        .map(|sql| {
            let sql = sql.replace('%', "%%").replace("%%1$s", "%1$s");
            format!("        EXECUTE pg_catalog.format({}, part);\n", quote_text(&sql))
        })
        .collect();
    let body = format!(
        "DECLARE part regclass;\nBEGIN\n    FOR part IN SELECT relid FROM pg_catalog.pg_partition_tree({parent}) \
         WHERE level > 0 LOOP\n{each}    END LOOP;\nEND"
    );
    // As a quoted text and not between dollars: a name may hold any of these.
    format!("DO {};\n", quote_text(&body))
}
