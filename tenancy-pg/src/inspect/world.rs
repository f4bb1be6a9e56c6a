//! Everything else that the service can reach.

use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;

use super::catalog::Catalog;
use super::codes::Code;
use super::report::Finding;
use crate::declaration::Relation;
use crate::error::PgError;
use crate::ident::quote_ident;

/// A relation outside the system schemas on which a role within reach has any right.
#[derive(sqlx::FromRow)]
struct Reached {
    schema: String,
    name: String,
    kind: String,
    /// A declared tenant table that a view or rule on it reads.
    reads: Option<String>,
}

pub(super) async fn findings(connection: &mut PgConnection, catalog: &Catalog<'_>) -> Result<Vec<Finding>, PgError> {
    let tables: Vec<Oid> = catalog.tables.iter().filter_map(|table| Some(table.found.as_ref()?.oid)).collect();
    let reached: Vec<Reached> = sqlx::query_as(REACHED).bind(tables).bind(&catalog.reach).fetch_all(connection).await?;
    Ok(reached.iter().filter_map(|relation| judge(relation, catalog)).collect())
}

fn judge(reached: &Reached, catalog: &Catalog<'_>) -> Option<Finding> {
    let declaration = catalog.declaration;
    let is =
        |relation: &Relation| relation.schema.as_str() == reached.schema && relation.table.as_str() == reached.name;
    let object = format!("{}.{}", quote_ident(&reached.schema), quote_ident(&reached.name));
    let revoke = catalog.revoke_all(&object);
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
            Some(Finding::fatal(Code::Undeclared, object, why, revoke))
        }
    }
}

/// Views are followed through other views. Rights on a single column count.
const REACHED: &str = "
with recursive readers(oid, reads) as (
    select r.ev_class, d.refobjid from pg_rewrite r
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
    where d.refobjid <> r.ev_class and d.refobjid = any($1)
    union
    select r.ev_class, readers.reads from readers
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = readers.oid
    join pg_rewrite r on r.oid = d.objid
    where r.ev_class <> readers.oid
)
select n.nspname::text as schema, c.relname::text as name, c.relkind::text as kind,
       (select x.reads::regclass::text from readers x where x.oid = c.oid limit 1) as reads
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.oid = any($1)
  and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp)'
  and exists (select from unnest($2::oid[]) as u
              where has_table_privilege(u, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
                 or has_any_column_privilege(u, c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))
order by 1, 2";
