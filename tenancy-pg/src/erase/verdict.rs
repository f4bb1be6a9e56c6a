//! Looking for what is left, and saying what was found out.

use tenancy_core::{Life, StoreVerdict};

use super::{PgEraser, names, rows};
use crate::error::PgError;

pub(super) async fn of(eraser: &PgEraser, life: Life) -> Result<StoreVerdict, PgError> {
    let Some(run) = eraser.found(life).await?.filter(|run| run.removed) else {
        return Ok(StoreVerdict::failed("the life is in the registry"));
    };
    for table in eraser.declaration.tenant_tables() {
        if rows::count(&eraser.pool, table, &run.row_key).await? > 0 {
            return Ok(StoreVerdict::told(PgError::RowsIn(table.relation.to_string())));
        }
    }
    let (schemas, tables) = names(&eraser.declaration);
    let columns: Vec<&str> = eraser.declaration.tenant_tables().iter().map(|table| table.column()).collect();
    let loose: i64 =
        sqlx::query_scalar(LOOSE).bind(&schemas).bind(&tables).bind(columns).fetch_one(&eraser.pool).await?;
    if loose > 0 {
        let why = "a tenant table has no foreign key to the registry, so nothing stops a late writer".to_owned();
        return Ok(StoreVerdict::Unverifiable { why });
    }
    if !run.drained {
        let why = "the eraser may not see other sessions: grant it pg_read_all_stats".to_owned();
        return Ok(StoreVerdict::Unverifiable { why });
    }
    let old: i64 =
        sqlx::query_scalar(OLD_FILES).bind(life.uuid()).bind(schemas).bind(tables).fetch_one(&eraser.pool).await?;
    Ok(if old == 0 { StoreVerdict::Verified } else { StoreVerdict::LogicalOnly })
}

/// Declared tables whose tenant column has no valid foreign key of its own to the registry.
const LOOSE: &str = "
select count(*) from unnest($1::text[], $2::text[], $3::text[]) as d(schema, name, col)
where not exists (
    select from pg_catalog.pg_namespace n
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = d.name
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = d.col
    join pg_catalog.pg_constraint f on f.conrelid = c.oid and f.contype = 'f' and f.convalidated
        and f.conkey = array[a.attnum]
    join pg_catalog.pg_class r on r.oid = f.confrelid and r.relname = 'tenant'
    join pg_catalog.pg_namespace rn on rn.oid = r.relnamespace and rn.nspname = 'tenancy'
    where n.nspname = d.schema)";

/// Files that were there when the rows went, or that were written anew while somebody could still see the rows: a
/// rewrite keeps what a running transaction may see, and its horizon tells. TOAST tables are rewritten with theirs.
const OLD_FILES: &str = "
with recursive run as (
    select files, removed_xid from tenancy_erasure.run where life = $1
), leaf(oid) as (
    select c.oid from unnest($2::text[], $3::text[]) as d(schema, name)
    join pg_catalog.pg_namespace n on n.nspname = d.schema
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = d.name
    union select i.inhrelid from leaf join pg_catalog.pg_inherits i on i.inhparent = leaf.oid
)
select count(*) from leaf join pg_catalog.pg_class c on c.oid = leaf.oid and c.relkind = 'r' cross join run
where pg_catalog.pg_relation_filenode(c.oid) = any(run.files)
   or pg_catalog.age(c.relfrozenxid) >= pg_catalog.age(run.removed_xid::xid8::xid)";
