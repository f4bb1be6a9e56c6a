//! Whether the tables are as they should be.

use std::collections::BTreeSet;

use serde_json::Value;
use tenancy_pg::sqlx;
use tenancy_pg::{Code, Database, Inspected, PgError};

use super::error::refused;
use super::pair::Pair;
use crate::error::BackendError;
use crate::schema::Schema;

/// Looks at the tables as the service's role: their protection by an inspection, and what they were made for by the catalog.
pub(super) async fn look(database: &Database<Inspected>, tables: &Pair) -> Result<(), BackendError> {
    let inspection = match database.reinspect().await {
        Ok(inspection) => inspection,
        Err(PgError::Inspection(_)) => {
            return Err(BackendError::unfit("the tables are not protected, or not made for this schema of vectors"));
        }
        Err(error) => return Err(refused(error)),
    };
    // Of an object in a table the inspection says `index ON table`.
    let ours = |object: &str| [&tables.points, &tables.lives].into_iter().any(|table| object.ends_with(table.as_str()));
    if inspection.findings.iter().any(|finding| GRAVE.contains(&finding.code) && ours(&finding.object)) {
        return Err(BackendError::unfit("the tables are not protected, or not made for this schema of vectors"));
    }
    if is_made_for(database, tables).await? {
        Ok(())
    } else {
        Err(BackendError::unfit("the tables are not protected, or not made for this schema of vectors"))
    }
}

/// Whether they were made for the vectors that are to be kept there.
pub(super) async fn is_made_for(database: &Database<Inspected>, tables: &Pair) -> Result<bool, BackendError> {
    if made_for(database, tables).await?.as_ref() != Some(tables.schema()) {
        return Ok(false);
    }
    let there = columns(database, tables).await?;
    let wanted = tables.columns().iter().flat_map(super::columns::Column::parts);
    Ok(wanted.into_iter().all(|part| there.contains(&part)))
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
    Code::AppendOnly,
];
