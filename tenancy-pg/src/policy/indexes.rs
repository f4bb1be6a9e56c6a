//! Indexes led by the row key.

use super::names::fitted;
use super::step::{Locks, Step};
use crate::declaration::TenantTable;
use crate::ident::quote_ident;

/// An index on the row key alone.
pub(super) fn plain(table: &TenantTable) -> Step {
    step(table, "CREATE INDEX IF NOT EXISTS", "DROP INDEX IF EXISTS", Locks::Scan)
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
