//! Tables in which the service is to change and delete nothing: what ways are left to either. Keys that carry a change on are
//! looked at among the foreign keys.
//!
//! A statement that a tenant smuggles in has all rights of the service's role. The policies hold it to the tenant's own rows,
//! and of some of those the service must be able to say that they are as they were: that a life is closed, say.

use sqlx::AssertSqlSafe;
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

/// A relation through which the service writes, or a rule that it sets off.
#[derive(sqlx::FromRow)]
struct Way {
    name: String,
    rights: Vec<String>,
    tables: Vec<String>,
}

pub(super) async fn findings(connection: &mut PgConnection, catalog: &Catalog<'_>) -> Result<Vec<Finding>, PgError> {
    let kept = kept(catalog);
    if kept.is_empty() {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for (sql, finding) in WAYS {
        let ways = unnamed::query_as(AssertSqlSafe(format!("{OVER}{sql}"))).bind(&kept).bind(&catalog.reach);
        let ways: Vec<Way> = ways.fetch_all(&mut *connection).await?;
        all.extend(ways.into_iter().map(|way| finding(way, catalog)));
    }
    Ok(all)
}

fn of_parent(Way { name, rights, tables }: Way, catalog: &Catalog<'_>) -> Finding {
    let (rights, tables) = (rights.join(", "), tables.join(", "));
    let why = format!(
        "The service has {rights} on this parent of {tables}. The table is declared as append-only, and what is done to the \
         parent is done to its rows too: the server asks for a right on the parent alone."
    );
    let fix = format!("{} -- or take {tables} out of it", revoke(&rights, &name, catalog));
    Finding::fatal(Code::AppendOnly, name, why, fix)
}

fn of_view(Way { name, rights, tables }: Way, catalog: &Catalog<'_>) -> Finding {
    let (rights, tables) = (rights.join(", "), tables.join(", "));
    let why = format!(
        "The service has {rights} on this view, which gives rows of {tables} in its owner's name. The table is declared as \
         append-only, and what is written to the view is written to it."
    );
    let fix = revoke(&rights, &name, catalog);
    Finding::fatal(Code::AppendOnly, name, why, fix)
}

/// A rule is not shut out by a REVOKE: what sets it off may be what the service is there for.
fn of_rule(Way { name, tables, .. }: Way, _catalog: &Catalog<'_>) -> Finding {
    let why = format!(
        "The service sets this rule off, and it changes or deletes rows of {} in the name of its table's owner. The table is \
         declared as append-only.",
        tables.join(", ")
    );
    let fix = format!("DROP RULE {name};");
    Finding::fatal(Code::AppendOnly, name, why, fix)
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

type Told = fn(Way, &Catalog<'_>) -> Finding;
const WAYS: [(&str, Told); 3] = [(PARENTS, of_parent), (VIEWS, of_view), (RULES, of_rule)];

/// What is done to a parent is done to the rows of its children.
const OVER: &str = "
with recursive over(kept, at) as (
    select k, k from unnest($1::oid[]) k
    union
    select over.kept, i.inhparent from over join pg_inherits i on i.inhrelid = over.at
), ";

/// A parent that is kept itself is found as such.
const PARENTS: &str = "may as (
    select kept, at, exists (select from unnest($2::oid[]) u where has_any_column_privilege(u, at, 'UPDATE')) as updates,
           exists (select from unnest($2::oid[]) u where has_table_privilege(u, at, 'DELETE')) as deletes
    from over where at <> all($1)
)
select format('%I.%I', n.nspname, c.relname) as name,
       array_remove(array[case when bool_or(updates) then 'UPDATE' end, case when bool_or(deletes) then 'DELETE' end], null) as rights,
       array_agg(distinct kept::regclass::text) as tables
from may join pg_class c on c.oid = may.at join pg_namespace n on n.oid = c.relnamespace
where updates or deletes group by 1 order by 1";

/// The innermost view decides in whose name the table is written; one with `security_invoker` asks whoever runs the
/// statement, whose right on the table is found there. A view that the server can't write through is none.
const VIEWS: &str = "reads(view, owner, invoker, read) as (
    select distinct c.oid, c.relowner,
           exists (select from pg_options_to_table(c.reloptions) o
                   where o.option_name = 'security_invoker' and lower(o.option_value) in ('true', 'on', 'yes', '1')),
           d.refobjid
    from pg_rewrite r join pg_class c on c.oid = r.ev_class and c.relkind = 'v' and r.rulename = '_RETURN'
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
                    and d.refobjid <> c.oid
), way(view, kept, updates, deletes) as (
    select view, kept, has_any_column_privilege(owner, read, 'UPDATE'), has_table_privilege(owner, read, 'DELETE')
    from reads join over on over.at = reads.read where not invoker
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

/// A rule acts as the owner of the table or view that it is on, and so does one that another rule or a view sets off. Its text
/// says what it changes; the catalog says only what it names.
const RULES: &str = "named(rule, reader, event, read) as (
    select distinct r.oid, r.ev_class, r.ev_type, d.refobjid
    from pg_rewrite r
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
    where r.ev_enabled <> 'D'
), target(kept, at) as (
    select kept, at from over
    union
    select target.kept, named.reader from target join named on named.read = target.at and named.event = '1'
), changes(rule, reader, event, kept) as (
    select distinct named.rule, named.reader, named.event, target.kept
    from target join named on named.read = target.at and named.event <> '1'
    join pg_class c on c.oid = target.at join pg_namespace n on n.oid = c.relnamespace
    cross join lateral (select regexp_replace(format('%I.%I', n.nspname, c.relname), '(\\W)', '\\\\\\1', 'g')
                               || '(?![\\w$\"])' as it) name
    where pg_get_ruledef(named.rule) ~ ('(UPDATE|DELETE FROM|MERGE INTO) (ONLY )?' || name.it)
       or pg_get_ruledef(named.rule) ~ ('INSERT INTO ' || name.it || '.*ON CONFLICT.*DO UPDATE')
), sets_off(rule, at, event) as (
    select rule, reader, event::text from changes
    union
    select sets_off.rule, named.reader, '*' from sets_off join named on named.read = sets_off.at and named.reader <> sets_off.at
)
select format('%I ON %I.%I', r.rulename, n.nspname, c.relname) as name, array[]::text[] as rights,
       array_agg(distinct changes.kept::regclass::text) as tables
from changes join pg_rewrite r on r.oid = changes.rule
join pg_class c on c.oid = r.ev_class join pg_namespace n on n.oid = c.relnamespace
where exists (select from sets_off s cross join unnest($2::oid[]) u
              where s.rule = changes.rule
                and (s.event in ('2', '*') and has_any_column_privilege(u, s.at, 'UPDATE')
                     or s.event in ('3', '*') and has_any_column_privilege(u, s.at, 'INSERT')
                     or s.event in ('4', '*') and has_table_privilege(u, s.at, 'DELETE')))
group by 1 order by 1";
