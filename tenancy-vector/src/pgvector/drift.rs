//! Whether the tables are as they should be.

use std::collections::BTreeSet;

use serde_json::Value;
use tenancy_pg::sqlx;
use tenancy_pg::{Code, Database, Finding, Inspected, PgError};

use super::error::refused;
use super::pair::Pair;
use super::unfit::Unfit;
use crate::error::BackendError;
use crate::schema::Schema;

/// Looks at the tables as the service's role: their protection by an inspection, and what they were made for by the catalog.
pub(super) async fn look(database: &Database<Inspected>, tables: &Pair) -> Result<(), BackendError> {
    let inspection = match database.reinspect().await {
        Ok(inspection) => inspection,
        Err(PgError::Inspection(report)) => {
            // What is wrong with these tables tells more here than what is wrong elsewhere.
            let worst = report.fatal().find(|finding| is_of(finding, tables)).or_else(|| report.fatal().next());
            return Err(
                worst.map_or_else(|| refused(PgError::Inspection(report.clone())), |finding| found(finding).into())
            );
        }
        Err(error) => return Err(refused(error)),
    };
    let grave = |finding: &&Finding| GRAVE.contains(&finding.code) && is_of(finding, tables);
    if let Some(finding) = inspection.findings.iter().find(grave) {
        return Err(found(finding).into());
    }
    is_keyed(database, tables).await?;
    is_made_for(database, tables).await
}

/// Of an object in a table the inspection says `index ON table`, and of a column `table.column`.
fn is_of(finding: &Finding, tables: &Pair) -> bool {
    let object = finding.object.as_str();
    [&tables.points, &tables.lives].into_iter().any(|table| object.contains(table.as_str()))
}

fn found(finding: &Finding) -> Unfit {
    Unfit::Found { code: finding.code.as_str(), title: finding.code.title(), object: finding.object.clone() }
}

/// Whether points refer to lives with the flag, so that one that is closed takes none.
pub(super) async fn is_keyed(database: &Database<Inspected>, tables: &Pair) -> Result<(), BackendError> {
    let keyed = sqlx::query_scalar(KEYED).bind(&tables.points).bind(&tables.lives).bind(tables.owner());
    let keyed: bool = keyed.fetch_one(&database.untenanted()).await.map_err(refused)?;
    let what = "does not refer to the table of lives by the key and the check of the migration: what was dropped would take \
                points again";
    if keyed { Ok(()) } else { Err(Unfit::Table { table: tables.points.clone(), what }.into()) }
}

/// Whether they were made for the vectors that are to be kept there.
pub(super) async fn is_made_for(database: &Database<Inspected>, tables: &Pair) -> Result<(), BackendError> {
    let table = || tables.points.clone();
    if made_for(database, tables).await?.as_ref() != Some(tables.schema()) {
        return Err(Unfit::OtherSchema { table: table() }.into());
    }
    let there = columns(database, tables).await?;
    let wanted = tables.columns().iter().flat_map(super::columns::Column::parts);
    match wanted.into_iter().find(|part| !there.contains(part)) {
        Some((column, kind)) => Err(Unfit::Column { table: table(), column, kind }.into()),
        None => Ok(()),
    }
}

/// The schema that the table's comment names.
async fn made_for(database: &Database<Inspected>, tables: &Pair) -> Result<Option<Schema>, BackendError> {
    let sql = "select pg_catalog.obj_description(pg_catalog.to_regclass($1), 'pg_class')";
    let comment = sqlx::query_scalar(sql).bind(&tables.points).fetch_one(&database.untenanted()).await;
    let comment: Option<String> = comment.map_err(refused)?;
    let value: Option<Value> = comment.and_then(|comment| serde_json::from_str(&comment).ok());
    Ok(value.as_ref().and_then(Schema::from_json))
}

/// The columns of the points, each with its type.
async fn columns(database: &Database<Inspected>, tables: &Pair) -> Result<BTreeSet<(String, String)>, BackendError> {
    let rows: Vec<(String, String)> =
        sqlx::query_as(COLUMNS).bind(&tables.points).fetch_all(&database.untenanted()).await.map_err(refused)?;
    Ok(rows.into_iter().collect())
}

/// A point of a closed life is kept out by all of it: without the check it could say that its life is closed, or nothing if that
/// may be null, and a key that carries changes on would say so for it.
const KEYED: &str = "
select exists (select from pg_catalog.pg_constraint f
               where f.conrelid = pg_catalog.to_regclass($1) and f.confrelid = pg_catalog.to_regclass($2)
                 and f.contype = 'f' and f.convalidated and f.confupdtype = 'a' and f.confdeltype = 'a'
                 and pg_catalog.array_length(f.conkey, 1) = 2
                 and not exists (select from unnest(f.conkey, f.confkey) as pair(here, there)
                                 join pg_catalog.pg_attribute h on h.attrelid = f.conrelid and h.attnum = pair.here
                                 join pg_catalog.pg_attribute t on t.attrelid = f.confrelid and t.attnum = pair.there
                                 where h.attname <> t.attname or h.attname not in ($3, 'open')
                                    or not (h.attnotnull and t.attnotnull)))
   and exists (select from pg_catalog.pg_constraint c
               where c.conrelid = pg_catalog.to_regclass($1) and c.contype = 'c' and c.convalidated
                 and pg_catalog.pg_get_expr(c.conbin, c.conrelid) = 'open')";

const COLUMNS: &str = "
select a.attname::text, pg_catalog.regexp_replace(pg_catalog.format_type(a.atttypid, a.atttypmod), '^.*[.]', '')
from pg_catalog.pg_attribute a
where a.attrelid = pg_catalog.to_regclass($1) and a.attnum > 0 and not a.attisdropped";

/// What makes these tables useless although the inspection may call it a warning.
const GRAVE: &[Code] = &[
    Code::RlsDisabled,
    Code::NotForced,
    Code::NotActive,
    Code::TenantColumn,
    Code::PolicyUnbound,
    Code::PolicyMissing,
    Code::VectorIndex,
];
