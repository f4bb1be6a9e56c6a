//! Foreign keys and unique indexes of tenant tables: the server checks both past every policy.

use sqlx::postgres::PgConnection;

use super::codes::Code;
use super::report::{Finding, Severity};
use crate::declaration::{Declaration, TenantTable};
use crate::error::PgError;
use crate::ident::quote_ident;

/// A foreign key from one declared table to another that does not pair their tenant columns.
#[derive(sqlx::FromRow)]
struct ForeignKey {
    name: String,
    /// Places in the declaration.
    child: i64,
    parent: i64,
    columns: Vec<String>,
    referenced: Vec<String>,
}

/// A unique index without the tenant column.
#[derive(sqlx::FromRow)]
struct Unique {
    name: String,
    table: i64,
}

pub(super) async fn findings(
    connection: &mut PgConnection,
    declaration: &Declaration,
) -> Result<Vec<Finding>, PgError> {
    let tables = declaration.tenant_tables();
    let names = |name: fn(&TenantTable) -> &str| tables.iter().map(|t| name(t).to_owned()).collect::<Vec<_>>();
    let (schemas, relations) = (names(TenantTable::schema), names(TenantTable::table));
    let columns = names(TenantTable::column);
    let sql = |query| sqlx::AssertSqlSafe(format!("{DECLARED}{query}"));
    let keys: Vec<ForeignKey> = sqlx::query_as(sql(FOREIGN_KEYS))
        .bind(&schemas)
        .bind(&relations)
        .bind(&columns)
        .fetch_all(&mut *connection)
        .await?;
    let unique: Vec<Unique> =
        sqlx::query_as(sql(UNIQUE)).bind(&schemas).bind(&relations).bind(&columns).fetch_all(connection).await?;
    let table = |place: i64| usize::try_from(place).ok().and_then(|place| tables.get(place));
    let keys = keys.iter().filter_map(|key| Some(of_key(key, table(key.child)?, table(key.parent)?)));
    Ok(keys.chain(unique.iter().filter_map(|index| Some(of_index(index, table(index.table)?)))).collect())
}

fn of_key(key: &ForeignKey, child: &TenantTable, parent: &TenantTable) -> Finding {
    let name = quote_ident(&key.name);
    let others = key.columns.iter().zip(&key.referenced);
    let others = others.filter(|(here, there)| *here != child.column() && *there != parent.column());
    let (mut here, mut there) = (child.column.quoted(), parent.column.quoted());
    for (column, referenced) in others {
        here += &format!(", {}", quote_ident(column));
        there += &format!(", {}", quote_ident(referenced));
    }
    let (child, parent) = (&child.relation, &parent.relation);
    Finding::fatal(
        Code::ForeignKey,
        format!("{name} ON {child}"),
        "A row can refer to another tenant's, because the key does not compare the tenant columns. It tells whether that \
         row exists, keeps its owner from deleting it, or is deleted along with it.",
        format!(
            "ALTER TABLE {parent} ADD UNIQUE ({there});\n\
             ALTER TABLE {child} DROP CONSTRAINT {name}, \
             ADD CONSTRAINT {name} FOREIGN KEY ({here}) REFERENCES {parent} ({there}); \
             -- with the ON DELETE and ON UPDATE that it had"
        ),
    )
}

fn of_index(index: &Unique, table: &TenantTable) -> Finding {
    let (relation, column) = (&table.relation, table.column.quoted());
    Finding {
        code: Code::UniqueIndex,
        severity: Severity::Warning,
        object: format!("{} ON {relation}", quote_ident(&index.name)),
        why:
            "A tenant that tries a value learns whether another one has it, and can take it first. Random keys of 128 \
              bits can't be tried."
                .to_owned(),
        fix: format!("put {column} in front of its columns"),
    }
}

const DECLARED: &str = "
with declared as (
    select d.place - 1 as place, c.oid, a.attnum
    from unnest($1::text[], $2::text[], $3::text[]) with ordinality as d(schema, name, col, place)
    join pg_namespace n on n.nspname = d.schema join pg_class c on c.relnamespace = n.oid and c.relname = d.name
    join pg_attribute a on a.attrelid = c.oid and a.attname = d.col and a.attnum > 0 and not a.attisdropped
)";

/// What a partition has of its parent's is the parent's.
const FOREIGN_KEYS: &str = "
select k.conname::text as name, child.place as child, parent.place as parent,
       array(select a.attname::text from unnest(k.conkey) with ordinality as u(n, i)
             join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.n order by u.i) as columns,
       array(select a.attname::text from unnest(k.confkey) with ordinality as u(n, i)
             join pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.n order by u.i) as referenced
from pg_constraint k join declared child on child.oid = k.conrelid join declared parent on parent.oid = k.confrelid
where k.contype = 'f' and k.conparentid = 0
  and not exists (select from unnest(k.conkey, k.confkey) as pair(here, there)
                  where here = child.attnum and there = parent.attnum)
order by child.place, k.conname";

const UNIQUE: &str = "
select c.relname::text as name, d.place as table
from declared d join pg_index i on i.indrelid = d.oid and i.indisunique join pg_class c on c.oid = i.indexrelid
where not d.attnum = any((i.indkey::int2[])[0:i.indnkeyatts - 1])
order by d.place, c.relname";
