//! Everything else that the service can reach.

use sqlx::postgres::PgConnection;

use super::report::{Code, Finding};
use crate::declaration::{Declaration, Relation};
use crate::error::PgError;
use crate::ident::quote_ident;

/// A relation outside the system schemas on which a role within reach has any right.
#[derive(sqlx::FromRow)]
struct Reached {
    schema: String,
    name: String,
    kind: String,
    /// A tenant table above it, for a partition or child.
    child_of: Option<String>,
    /// A declared tenant table that a view or rule on it reads.
    reads: Option<String>,
}

pub(super) async fn findings(
    connection: &mut PgConnection,
    declaration: &Declaration,
) -> Result<Vec<Finding>, PgError> {
    let tenant = declaration.tenant_tables();
    let schemas: Vec<&str> = tenant.iter().map(|table| table.schema()).collect();
    let tables: Vec<&str> = tenant.iter().map(|table| table.table()).collect();
    let reached: Vec<Reached> = sqlx::query_as(REACHED).bind(schemas).bind(tables).fetch_all(connection).await?;
    Ok(reached.iter().filter_map(|relation| judge(relation, declaration)).collect())
}

fn judge(reached: &Reached, declaration: &Declaration) -> Option<Finding> {
    let is =
        |relation: &Relation| relation.schema.as_str() == reached.schema && relation.table.as_str() == reached.name;
    let object = format!("{}.{}", quote_ident(&reached.schema), quote_ident(&reached.name));
    let revoke = format!("REVOKE ALL ON TABLE {object} FROM the service's role and PUBLIC;");
    if declaration.tenant_tables().iter().any(|table| is(&table.relation)) {
        return None;
    }
    if let Some(parent) = &reached.child_of {
        let why = format!(
            "It is a partition or child of {parent}, whose policies do not hold it when it is named itself. \
                           A statement that names it reads every tenant's rows in it."
        );
        return Some(Finding::fatal(Code::ChildReachable, object, why, revoke));
    }
    let global = declaration.global_tables().iter().any(is);
    match (global, &reached.reads) {
        (true, None) => None,
        (true, Some(table)) => {
            let why = format!(
                "It is declared global and reads the tenant table {table}. In whose name it reads is up to \
                               whoever makes it anew."
            );
            Some(Finding::fatal(Code::GlobalReadsTenant, object, why, revoke))
        }
        (false, _) => {
            let kind = match reached.kind.as_str() {
                "v" => "view",
                "m" => "materialized view",
                "f" => "foreign table",
                _table => "table",
            };
            let why = format!(
                "The service can reach this {kind} and nobody said whose its rows are. If they are \
                               tenants' rows, nothing holds them."
            );
            Some(Finding::fatal(Code::Undeclared, object, why, format!("declare it, or: {revoke}")))
        }
    }
}

/// Views are followed through other views. Rights on a single column count.
const REACHED: &str = "
with recursive me(u) as (
    select oid from pg_roles where rolname in (session_user, current_user)
    union select m.roleid from me join pg_auth_members m on m.member = me.u
), declared as (
    select c.oid from unnest($1::text[], $2::text[]) as d(schema, name)
    join pg_namespace n on n.nspname = d.schema join pg_class c on c.relnamespace = n.oid and c.relname = d.name
), children(oid, parent) as (
    select i.inhrelid, i.inhparent from pg_inherits i join declared d on d.oid = i.inhparent
    union
    select i.inhrelid, children.parent from children join pg_inherits i on i.inhparent = children.oid
), readers(oid, reads) as (
    select r.ev_class, d.refobjid from pg_rewrite r
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
    where d.refobjid <> r.ev_class and d.refobjid in (select oid from declared union select oid from children)
    union
    select r.ev_class, readers.reads from readers
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = readers.oid
    join pg_rewrite r on r.oid = d.objid
    where r.ev_class <> readers.oid
)
select n.nspname::text as schema, c.relname::text as name, c.relkind::text as kind,
       (select p.parent::regclass::text from children p where p.oid = c.oid limit 1) as child_of,
       (select x.reads::regclass::text from readers x where x.oid = c.oid limit 1) as reads
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f')
  and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp)'
  and exists (select from me
              where has_table_privilege(u, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
                 or has_any_column_privilege(u, c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))
order by 1, 2";
