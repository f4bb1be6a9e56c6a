//! Keys that are to be led by the row key, where nobody has looked whether they are.

use super::step::{Locks, Step};
use crate::declaration::TenantTable;
use crate::ident::{quote_ident, quote_text};

/// Stops a migration that was made without a look at the database, where a key of the table is not led by the row key or
/// none is: it knows no such key's name or columns, so it can't change it.
///
/// The error is a cast of the text that says so; a name of the row is in it, or the planner would try it for a table that is
/// as it should be. A `DO` block would say it better, and after the hardening an owner may run none.
pub(super) fn check(table: &TenantTable) -> Step {
    let relation = &table.relation;
    let of = quote_text(&relation.to_string());
    let column = quote_text(table.column());
    let other = format!(
        "'the key ' || pg_catalog.quote_ident(c.relname) || ' of ' || {of} || ' is without the tenant column: \
         write it in CREATE TABLE, or use Migration::diff'"
    );
    let none = "'no key of ' || pg_catalog.quote_ident(k.relname) || ' is led by the tenant column: \
                write one in CREATE TABLE, or declare no composite keys'";
    let attribute = format!(
        "pg_catalog.pg_attribute a WHERE a.attrelid = {of}::pg_catalog.regclass AND a.attname = {column} AND a.attnum"
    );
    Step::new(
        Locks::Catalog,
        format!("keys of {relation} are led by {} already, as declared", quote_ident(table.column())),
        format!(
            "SELECT ({other})::pg_catalog.int4\nFROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid\n\
             WHERE i.indrelid = {of}::pg_catalog.regclass AND i.indisunique\n  \
             AND NOT EXISTS (SELECT FROM {attribute} = ANY ((i.indkey::pg_catalog.int2[])[0:i.indnkeyatts - 1]));\n\
             SELECT ({none})::pg_catalog.int4\nFROM pg_catalog.pg_class k WHERE k.oid = {of}::pg_catalog.regclass AND NOT EXISTS (\n  \
             SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = k.oid AND i.indisvalid AND i.indpred IS NULL\n  \
             AND EXISTS (SELECT FROM {attribute} = i.indkey[0]));\n"
        ),
        String::new(),
    )
}
