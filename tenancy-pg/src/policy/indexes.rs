//! Indexes led by the row key.

use super::names::fitted;
use super::step::{Locks, Step};
use crate::declaration::TenantTable;
use crate::ident::quote_ident;

/// An index on the row key alone.
pub(super) fn plain(table: &TenantTable) -> Step {
    step(table, "CREATE INDEX IF NOT EXISTS", "DROP INDEX IF EXISTS", Locks::Scan)
}

/// The same, while everybody goes on. What a broken-off try left goes first.
pub(super) fn concurrent(table: &TenantTable, broken: bool) -> Vec<Step> {
    let name = format!("{}.{}", table.relation.schema.quoted(), quote_ident(&name(table)));
    let build =
        step(table, "CREATE INDEX CONCURRENTLY IF NOT EXISTS", "DROP INDEX CONCURRENTLY IF EXISTS", Locks::Nobody);
    let mut steps = Vec::from_iter(broken.then(|| drop_broken(&name)));
    steps.push(build.alone());
    steps
}

/// Nobody can use an index that was not built to its end.
pub(super) fn drop_broken(name: &str) -> Step {
    let drop = format!("DROP INDEX CONCURRENTLY IF EXISTS {name};\n");
    Step::new(Locks::Nobody, format!("an earlier run may have broken off while it built {name}"), drop, String::new())
        .alone()
}

fn step(table: &TenantTable, create: &str, drop: &str, locks: Locks) -> Step {
    let (relation, column) = (&table.relation, table.column.quoted());
    let (schema, name) = (relation.schema.quoted(), quote_ident(&name(table)));
    Step::new(
        locks,
        format!("the policy's comparison finds the rows of one tenant in {relation} without a scan"),
        format!("{create} {name} ON {relation} ({column});\n"),
        format!("{drop} {schema}.{name};\n"),
    )
}

/// Of the schema, so the table's name is in it.
pub(super) fn name(table: &TenantTable) -> String {
    fitted(&format!("tenancy_row_key_{}", table.table()))
}
