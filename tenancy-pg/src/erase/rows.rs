//! Deleting and counting rows of one row key.

use sqlx::postgres::PgPool;
use sqlx::{AssertSqlSafe, Executor};

use super::names;
use crate::control::ControlTx;
use crate::declaration::{Declaration, TenantTable};
use crate::error::PgError;
use crate::ident::quote_text;

/// A tenant table in the order of deletion.
pub(super) struct Table<'d> {
    declared: &'d TenantTable,
    /// Rows refer to rows of the same table, or round a circle: part of them can't go before the rest.
    at_once: bool,
}

/// Children first. Tables of a circle come last, and are left to constraints that are deferred.
pub(super) async fn in_order<'d>(pool: &PgPool, declaration: &'d Declaration) -> Result<Vec<Table<'d>>, PgError> {
    let (schemas, tables) = names(declaration);
    let references: Vec<(i64, i64)> = sqlx::query_as(REFERENCES).bind(schemas).bind(tables).fetch_all(pool).await?;
    let mut left: Vec<usize> = (0..declaration.tenant_tables().len()).collect();
    let refers = |child: usize, parent: usize| {
        references.iter().any(|(c, p)| usize::try_from(*c) == Ok(child) && usize::try_from(*p) == Ok(parent))
    };
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let free = left.iter().position(|&table| !left.iter().any(|&other| other != table && refers(other, table)));
        let index = left.remove(free.unwrap_or(0));
        let at_once = free.is_none() || refers(index, index);
        ordered.push(Table { declared: &declaration.tenant_tables()[index], at_once });
    }
    Ok(ordered)
}

/// Deletes all rows of the key that row level security shows, batch by batch.
pub(super) async fn delete(pool: &PgPool, table: &Table<'_>, row_key: &str, batch: i64) -> Result<(), PgError> {
    let limit = if table.at_once { i64::MAX } else { batch };
    let (relation, mine) = (&table.declared.relation, is_mine(table.declared));
    // A row's place is unique within one partition only.
    let sql = format!(
        "delete from {relation} where {mine} and (tableoid, ctid) in \
         (select tableoid, ctid from {relation} where {mine} limit $2)"
    );
    loop {
        let mut tx = begin(pool, table.declared, row_key).await?;
        let deleted =
            sqlx::query(AssertSqlSafe(sql.as_str())).bind(row_key).bind(limit).execute(tx.connection()?).await?;
        tx.commit().await?;
        if deleted.rows_affected() == 0 {
            return Ok(());
        }
    }
}

/// How many rows of the key row level security shows.
pub(super) async fn count(pool: &PgPool, table: &TenantTable, row_key: &str) -> Result<i64, PgError> {
    let sql = format!("select count(*) from {} where {}", table.relation, is_mine(table));
    let mut tx = begin(pool, table, row_key).await?;
    let count = sqlx::query_scalar(AssertSqlSafe(sql)).bind(row_key).fetch_one(tx.connection()?).await?;
    tx.commit().await?;
    Ok(count)
}

/// A transaction that may see the rows of this key and of no other: by the eraser's own policy, and by the plain ones,
/// a floor among them.
async fn begin(pool: &PgPool, table: &TenantTable, row_key: &str) -> Result<ControlTx, PgError> {
    let (setting, key) = (table.setting.quoted(), quote_text(row_key));
    let scope = format!("set local \"tenancy.erasing\" = {key}; set local {setting} = {key}");
    let mut tx = ControlTx::begin(pool).await?;
    tx.connection()?.execute(AssertSqlSafe(scope)).await?;
    tx.connection()?.execute("set constraints all deferred").await?;
    Ok(tx)
}

/// The key is compared by name, too: an index that leads with the column serves it, and a policy that shows more is no
/// harm.
fn is_mine(table: &TenantTable) -> String {
    format!("{} = $1::text::{}", table.column.quoted(), table.key.sql())
}

const REFERENCES: &str = "
with declared as (
    select d.place - 1 as place, c.oid from unnest($1::text[], $2::text[]) with ordinality as d(schema, name, place)
    join pg_catalog.pg_namespace n on n.nspname = d.schema
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = d.name
)
select child.place, parent.place from pg_catalog.pg_constraint f
join declared child on child.oid = f.conrelid join declared parent on parent.oid = f.confrelid
where f.contype = 'f'";
