//! What the database does, beside what its catalog says: as the service's role, read only, and rolled back.
//!
//! Without a tenant, and with a row key that nobody has, no tenant table shows a row. A table that is empty shows none
//! whatever its policies are, so it is not proven; nor is one in which the server had to look too long.

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Executor, Row};

use super::catalog::Catalog;
use super::codes::Code;
use super::report::Finding;
use super::tables::{Found, Table};
use crate::declaration::RowKeyType;
use crate::error::PgError;
use crate::ident::quote_text;

/// Runs in the inspection's transaction, whose search path it puts back to the service's own.
pub(super) async fn findings(connection: &mut PgConnection, catalog: &Catalog<'_>) -> Result<Vec<Finding>, PgError> {
    connection.execute(OWN_SEARCH_PATH).await?;
    let readable: Vec<(&Table, &Found)> = catalog
        .tables
        .iter()
        .filter(|table| table.parent.is_none())
        .filter_map(|table| Some((table, table.with_policies()?)))
        .filter(|(_, found)| found.is_readable)
        .collect();
    let mut unproven: Vec<String> = Vec::new();
    let mut all = Vec::new();
    for chunk in readable.chunks(CHUNK) {
        let (filled, empty): (Vec<_>, Vec<_>) = chunk.iter().copied().partition(|(_, found)| found.has_pages);
        unproven.extend(empty.iter().map(|(table, _)| table.declared.relation.to_string()));
        for (scope, why) in scopes(catalog) {
            for (table, seen) in look(connection, &scope, &filled).await? {
                let relation = table.declared.relation.to_string();
                match seen {
                    Seen::Nothing => {}
                    Seen::Rows if all.iter().any(|finding: &Finding| finding.object == relation) => {}
                    Seen::Rows => all.push(saw_rows(table, why)),
                    Seen::Unknown if unproven.contains(&relation) => {}
                    Seen::Unknown => unproven.push(relation),
                }
            }
        }
    }
    if !unproven.is_empty() {
        all.push(not_proven(&unproven));
    }
    Ok(all)
}

/// What a probe saw of a table.
#[derive(Clone, Copy)]
enum Seen {
    Nothing,
    Rows,
    /// The statement failed or took too long.
    Unknown,
}

/// The statements that set a scope that is nobody's. A seal that is nobody's can't be made, so signed mode has the first
/// alone.
fn scopes(catalog: &Catalog<'_>) -> Vec<(String, &'static str)> {
    let setting = catalog.declaration.setting_name().quoted();
    let no_tenant = (format!("set local {setting} = ''"), "without a tenant");
    let key = catalog.declaration.tenant_tables().first().map(crate::TenantTable::key);
    match key {
        Some(key) if !catalog.declaration.signed() => {
            let random = quote_text(&random_key(key));
            vec![no_tenant, (format!("set local {setting} = {random}"), "with a row key that nobody has")]
        }
        _signed_or_no_table => vec![no_tenant],
    }
}

fn random_key(key: RowKeyType) -> String {
    let random = uuid::Uuid::new_v4();
    match key {
        RowKeyType::Uuid | RowKeyType::Text => random.to_string(),
        // Negative: what counts rows counts upwards.
        RowKeyType::BigInt => i64::MIN.saturating_add_unsigned(random.as_u64_pair().0 >> 2).to_string(),
    }
}

/// One query for all of them; one each only where that fails.
async fn look<'t>(
    connection: &mut PgConnection,
    scope: &str,
    tables: &[(&'t Table, &Found)],
) -> Result<Vec<(&'t Table, Seen)>, PgError> {
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    let queries: Vec<String> = tables
        .iter()
        .enumerate()
        .map(|(at, (table, _))| {
            format!("select {at} as place, exists (select from {}) as seen", table.declared.relation)
        })
        .collect();
    if let Some(rows) = attempt(connection, scope, &queries.join(" union all ")).await? {
        let of = |row: &PgRow| -> Result<_, sqlx::Error> {
            let place = usize::try_from(row.try_get::<i32, _>("place")?).unwrap_or_default();
            Ok((tables[place].0, if row.try_get("seen")? { Seen::Rows } else { Seen::Nothing }))
        };
        return Ok(rows.iter().map(of).collect::<Result<_, _>>()?);
    }
    let mut all = Vec::new();
    for ((table, _), query) in tables.iter().zip(&queries) {
        let rows = attempt(connection, scope, query).await?;
        let seen = match rows.as_deref() {
            Some([row]) if row.try_get("seen")? => Seen::Rows,
            Some(_) => Seen::Nothing,
            None => Seen::Unknown,
        };
        all.push((*table, seen));
    }
    Ok(all)
}

/// `None` where the server refuses or takes too long; the transaction goes on as if nothing had been tried.
async fn attempt(connection: &mut PgConnection, scope: &str, query: &str) -> Result<Option<Vec<PgRow>>, PgError> {
    connection.execute(AssertSqlSafe(format!("savepoint tenancy_probe; {scope}; {PATIENCE}"))).await?;
    let rows = sqlx::query(AssertSqlSafe(query)).persistent(false).fetch_all(&mut *connection).await;
    connection.execute("rollback to savepoint tenancy_probe; release savepoint tenancy_probe").await?;
    match rows {
        Ok(rows) => Ok(Some(rows)),
        Err(sqlx::Error::Database(_)) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

fn saw_rows(table: &Table, scope: &str) -> Finding {
    let why = format!(
        "The service's role was shown rows of this table {scope}. Whatever its policies look like, they do not hold it."
    );
    Finding::fatal(Code::ProbeSawRows, table.declared.relation.to_string(), why, table.declared.policy_sql())
}

fn not_proven(tables: &[String]) -> Finding {
    let why = "These tables are empty, or the server refused or took too long to look. That they showed no row without a tenant \
               proves nothing.";
    Finding::warning(Code::NotProven, tables.join(", "), why, "-- inspect again when there are rows")
}

const OWN_SEARCH_PATH: &str = "set local search_path to default";
const PATIENCE: &str = "set local statement_timeout = '500ms'";
/// Tables in one query.
const CHUNK: usize = 100;
