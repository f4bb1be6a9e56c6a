//! Partitions: a statement that names one is held by the partition's own policies and rights.

use super::names::POLICY;
use super::roles::Roles;
use super::step::{Locks, Step};
use crate::declaration::TenantTable;
use crate::ident::{quote_ident, quote_role, quote_text};

/// Protects the partitions that are there when it runs, however many.
pub(super) fn all(table: &TenantTable, roles: &Roles) -> Step {
    // Each text goes through `format`, in which the partition has a place: a per cent sign in a name is a per cent sign.
    let [policy, bound, app] =
        [quote_ident(POLICY), table.bound_sql(), quote_role(roles.app())].map(|sql| sql.replace('%', "%%"));
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

/// `%1$s` is the partition.
fn for_each(table: &TenantTable, statements: &[String]) -> String {
    let parent = quote_text(&table.relation.to_string());
    let each: String = statements
        .iter()
        .map(|sql| format!("        EXECUTE pg_catalog.format({}, part);\n", quote_text(sql)))
        .collect();
    let body = format!(
        "DECLARE part regclass;\nBEGIN\n    FOR part IN SELECT relid FROM pg_catalog.pg_partition_tree({parent}) \
         WHERE level > 0 LOOP\n{each}    END LOOP;\nEND"
    );
    // As a quoted text and not between dollars: a name may hold any of these.
    format!("DO {};\n", quote_text(&body))
}
