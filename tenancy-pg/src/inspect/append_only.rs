//! Tables in which the service is to change and delete nothing: whatever way is left to either.
//!
//! A statement that a tenant smuggles in has all rights of the service's role. The policies hold it to the tenant's own rows,
//! and of some of those the service must be able to say that they are as they were: that a life is closed, say.

use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;

use super::actors::Command;
use super::catalog::Catalog;
use super::codes::Code;
use super::report::Finding;
use super::tables::{Found, Table};
use crate::declaration::TenantTable;
use crate::error::PgError;
use crate::unnamed;

/// A right on the table itself, on one of its columns, or by a role that may write everywhere.
pub(super) fn of_table(catalog: &Catalog<'_>, declared: &TenantTable, found: &Found) -> Option<Finding> {
    if !declared.append_only {
        return None;
    }
    let granted = |command: &Command| catalog.accesses(found.oid).any(|access| access.may(*command));
    let rights: Vec<&str> = [Command::Update, Command::Delete].into_iter().filter(granted).map(Command::word).collect();
    if rights.is_empty() {
        return None;
    }
    let (table, rights) = (&declared.relation, rights.join(", "));
    let why = format!(
        "The table is declared as append-only and the service has {rights} on it or on a column of it. A statement that a \
         tenant smuggles in changes or removes what is to stay as it was written."
    );
    let everywhere = catalog.roles.iter().filter(|role| role.name == WRITES_EVERYWHERE);
    let everywhere: String = everywhere.map(|role| format!("\n{}", role.out_of_reach())).collect();
    let fix = format!("{}{everywhere}", revoke(&rights, &table.to_string(), catalog));
    Some(Finding::fatal(Code::AppendOnly, table.to_string(), why, fix))
}

/// A view through which the service writes in the name of somebody who may.
#[derive(sqlx::FromRow)]
struct View {
    name: String,
    rights: Vec<String>,
    tables: Vec<String>,
}

pub(super) async fn findings(connection: &mut PgConnection, catalog: &Catalog<'_>) -> Result<Vec<Finding>, PgError> {
    let kept = kept(catalog);
    if kept.is_empty() {
        return Ok(Vec::new());
    }
    let views: Vec<View> = unnamed::query_as(VIEWS).bind(kept).bind(&catalog.reach).fetch_all(connection).await?;
    let finding = |view: View| {
        let (rights, tables) = (view.rights.join(", "), view.tables.join(", "));
        let why = format!(
            "The service has {rights} on this view, which gives rows of {tables} in its owner's name. The table is declared as \
             append-only, and what is written to the view is written to it."
        );
        let fix = revoke(&rights, &view.name, catalog);
        Finding::fatal(Code::AppendOnly, view.name, why, fix)
    };
    Ok(views.into_iter().map(finding).collect())
}

/// The tables that are to stay as they were written, and their children.
pub(super) fn kept(catalog: &Catalog<'_>) -> Vec<Oid> {
    let kept = |table: &&Table| table.declared.append_only;
    catalog.tables.iter().filter(kept).filter_map(|table| Some(table.found.as_ref()?.oid)).collect()
}

/// Taken on the table, a right goes on its columns too.
fn revoke(rights: &str, relation: &str, catalog: &Catalog<'_>) -> String {
    format!("REVOKE {rights} ON TABLE {relation} FROM {};", catalog.grantees())
}

/// Its members may write in every table, and no grant on a table says so.
const WRITES_EVERYWHERE: &str = "pg_write_all_data";

/// The innermost view decides in whose name the table is written; one with `security_invoker` asks whoever runs the
/// statement, whose right on the table is found there. A view that the server can't write through is none.
const VIEWS: &str = "
with recursive reads(view, owner, invoker, read) as (
    select distinct c.oid, c.relowner,
           exists (select from pg_options_to_table(c.reloptions) o
                   where o.option_name = 'security_invoker' and lower(o.option_value) in ('true', 'on', 'yes', '1')),
           d.refobjid
    from pg_rewrite r join pg_class c on c.oid = r.ev_class and c.relkind = 'v' and r.rulename = '_RETURN'
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
                    and d.refobjid <> c.oid
), way(view, kept, updates, deletes) as (
    select view, read, has_any_column_privilege(owner, read, 'UPDATE'), has_table_privilege(owner, read, 'DELETE')
    from reads where read = any($1) and not invoker
    union
    select reads.view, way.kept, way.updates, way.deletes from way join reads on reads.read = way.view
), may as (
    select way.view, way.kept,
           way.updates and pg_relation_is_updatable(way.view, false) & 4 <> 0
             and exists (select from unnest($2::oid[]) u where has_any_column_privilege(u, way.view, 'UPDATE')) as updates,
           way.deletes and pg_relation_is_updatable(way.view, false) & 16 <> 0
             and exists (select from unnest($2::oid[]) u where has_table_privilege(u, way.view, 'DELETE')) as deletes
    from way
)
select format('%I.%I', n.nspname, c.relname) as name,
       array_remove(array[case when bool_or(updates) then 'UPDATE' end, case when bool_or(deletes) then 'DELETE' end], null) as rights,
       array_agg(distinct kept::regclass::text) as tables
from may join pg_class c on c.oid = may.view join pg_namespace n on n.oid = c.relnamespace
where updates or deletes group by 1 order by 1";
