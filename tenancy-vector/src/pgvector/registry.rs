//! What the registry of tenants says of a life that the table of lives no longer has: [`PgEraser`](tenancy_pg::PgEraser),
//! which empties every tenant table, may have been here first.

use tenancy_pg::sqlx;
use tenancy_pg::sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::pair::Pair;

/// What can be said of a late writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Registered {
    /// The tables refer to a registry, and it has let the life go: the server takes nothing of it.
    Gone,
    /// It has the life still.
    Yes,
    /// There is no registry that the tables refer to, or this role may not look.
    Unknown,
}

pub(super) async fn look(connection: &mut PgConnection, tables: &Pair, life: Uuid) -> Result<Registered, sqlx::Error> {
    let may_look = sqlx::query_scalar(MAY_LOOK).bind(&tables.points).bind(&tables.lives);
    let may_look: Option<bool> = may_look.fetch_one(&mut *connection).await?;
    if may_look != Some(true) {
        return Ok(Registered::Unknown);
    }
    let sql = "select exists (select from tenancy.tenant where life = $1)";
    let is_there: bool = sqlx::query_scalar(sql).bind(life).fetch_one(connection).await?;
    Ok(if is_there { Registered::Yes } else { Registered::Gone })
}

/// Points refer to lives and lives to the registry, both by keys that hold for each row, and the role may read there which
/// lives it has.
const MAY_LOOK: &str = "
with tables(points, lives) as (
    select pg_catalog.to_regclass($1)::oid, pg_catalog.to_regclass($2)::oid
), registry(oid) as (
    select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'tenancy' and c.relname = 'tenant' and c.relkind = 'r'
      and pg_catalog.has_schema_privilege(n.oid, 'USAGE') and pg_catalog.has_column_privilege(c.oid, 'life', 'SELECT')
      and not c.relrowsecurity
), keys(child, parent) as (
    select f.conrelid, f.confrelid from pg_catalog.pg_constraint f where f.contype = 'f' and f.convalidated
)
select exists (select from tables t, registry r
               where exists (select from keys where child = t.points and parent = t.lives)
                 and exists (select from keys where child = t.lives and parent = r.oid))";
