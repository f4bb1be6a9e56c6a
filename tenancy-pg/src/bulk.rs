//! Many rows in one statement.

use std::fmt;

use sqlx::postgres::{PgArguments, PgHasArrayType};
use sqlx::{Arguments, AssertSqlSafe, Encode, Postgres, Type};

use crate::declaration::Declaration;
use crate::error::PgError;
use crate::ident::{Name, quote_ident};
use crate::savepoint::TenantSavepoint;
use crate::tenant_tx::TenantTx;

/// Rows for one tenant table, column by column, for [`TenantTx::insert_all`].
///
/// One statement whatever the number of rows, `INSERT .. SELECT .. FROM unnest($1), unnest($2), ..` side by side. The
/// tenant column is not given; the server fills it with the row key of the scope. This stands in for `COPY .. FROM`, which
/// Postgres refuses under row level security. `None` inserts NULL, not the column's default: leave out a column to get
/// defaults. A column that is an array itself can't be filled this way, since `unnest` flattens arrays of arrays; it does
/// not compile.
///
/// ```no_run
/// # async fn run(db: &tenancy_pg::TenantDb) -> Result<(), Box<dyn std::error::Error>> {
/// use tenancy_pg::BulkInsert;
///
/// let ids: Vec<i64> = (1..=10_000).collect();
/// let bodies: Vec<String> = ids.iter().map(|id| format!("note {id}")).collect();
/// let mut tx = db.begin().await?;
/// tx.insert_all(BulkInsert::into("public", "note").column("id", &ids).column("body", &bodies)).await?;
/// tx.commit().await?;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct BulkInsert {
    schema: String,
    table: String,
    columns: Vec<String>,
    arguments: PgArguments,
    /// Of the first column.
    rows: Option<usize>,
    fault: Option<BulkError>,
}

/// Rows that can't be inserted in bulk. Nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BulkError {
    /// The table is not declared as a tenant table.
    #[error("rows can be inserted in bulk into declared tenant tables only")]
    Table,
    /// There is no column.
    #[error("a bulk insert needs a column")]
    NoColumn,
    /// The tenant column is filled by the server.
    #[error("the tenant column is filled by the server and can't be given")]
    TenantColumn,
    /// A name that no column can have, or one that was given before.
    #[error("a column's name is not possible, or was given twice")]
    Name,
    /// The columns are of different lengths.
    #[error("the columns of a bulk insert are of different lengths")]
    Lengths,
    /// A value can't be encoded.
    #[error("a value of a bulk insert can't be encoded")]
    Encode,
}

impl BulkInsert {
    /// Into a tenant table, by the names that the declaration has.
    pub fn into(schema: &str, table: &str) -> Self {
        let (schema, table) = (schema.to_owned(), table.to_owned());
        Self { schema, table, columns: Vec::new(), arguments: PgArguments::default(), rows: None, fault: None }
    }

    /// Adds a column: its name, and its value in each row. What is wrong with it is told by
    /// [`TenantTx::insert_all`].
    pub fn column<'v, T>(mut self, name: &str, values: &'v [T]) -> Self
    where
        T: Encode<'v, Postgres> + Type<Postgres> + PgHasArrayType,
    {
        if Name::parse(name).is_err() || self.columns.iter().any(|known| known == name) {
            return self.faulty(BulkError::Name);
        }
        if *self.rows.get_or_insert(values.len()) != values.len() {
            return self.faulty(BulkError::Lengths);
        }
        self.columns.push(name.to_owned());
        match self.arguments.add(values) {
            Ok(()) => self,
            Err(_quotes_the_value) => self.faulty(BulkError::Encode),
        }
    }

    fn faulty(mut self, fault: BulkError) -> Self {
        self.fault.get_or_insert(fault);
        self
    }

    fn sql(&self, declaration: &Declaration) -> Result<String, BulkError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let mut tables = declaration.tenant_tables().iter();
        let table = tables.find(|t| t.schema() == self.schema && t.table() == self.table).ok_or(BulkError::Table)?;
        if self.columns.is_empty() {
            return Err(BulkError::NoColumn);
        }
        if self.columns.iter().any(|column| column == table.column()) {
            return Err(BulkError::TenantColumn);
        }
        let (mut columns, mut values, mut arrays, mut aliases) =
            (quote_ident(table.column()), table.row_key_sql(), String::new(), String::new());
        for (place, column) in self.columns.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            columns += &format!(", {}", quote_ident(column));
            values += &format!(", given.v{place}");
            // Each by itself and by its full name: `unnest` of several arrays has none.
            arrays += &format!("{comma}pg_catalog.unnest(${})", place + 1);
            aliases += &format!("{comma}v{place}");
        }
        Ok(format!(
            "insert into {} ({columns}) select {values} from rows from ({arrays}) as given({aliases})",
            table.relation
        ))
    }
}

impl TenantTx<'_> {
    /// Inserts many rows in one statement and returns their number. Dropped before it answers, the transaction is
    /// interrupted.
    ///
    /// # Errors
    /// [`PgError::Bulk`], and the transaction goes on; else as any statement.
    pub async fn insert_all(&mut self, rows: BulkInsert) -> Result<u64, PgError> {
        let sql = rows.sql(self.declaration)?;
        let ended = sqlx::query_with(AssertSqlSafe(sql), rows.arguments).execute(self).await?;
        Ok(ended.rows_affected())
    }
}

impl TenantSavepoint<'_, '_> {
    /// As [`TenantTx::insert_all`], as a part that can be undone.
    ///
    /// # Errors
    /// As [`TenantTx::insert_all`].
    pub async fn insert_all(&mut self, rows: BulkInsert) -> Result<u64, PgError> {
        self.tx_mut().insert_all(rows).await
    }
}

impl fmt::Debug for BulkInsert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BulkInsert({} columns, {} rows)", self.columns.len(), self.rows.unwrap_or_default())
    }
}
