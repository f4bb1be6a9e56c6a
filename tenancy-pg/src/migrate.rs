//! Migrations, on an owner's connection that does not outlive them.

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgDatabaseError};
use sqlx::{AssertSqlSafe, Connection, Executor};
use tenancy_core::{Redacted, RowKey};

use crate::declaration::{Declaration, TenantTable};
use crate::error::PgError;
use crate::ident::quote_text;
use crate::options::{owner_options, quiet};
use crate::policy::key_text;

/// Runs the migrations that are not applied yet, as the owner, and closes the connection.
///
/// The service's own role needs no right to change the schema, and the inspection refuses one that has it.
///
/// The owner is under FORCE too and, with no tenant set, sees no row of a tenant table: `UPDATE note ..` would change
/// nothing and succeed. So the connection runs with `row_security = off`, which for a role that policies hold means that
/// such a statement fails ([`PgError::MigrationHeld`]). Data is migrated with [`data_migration_sql`], in a file like any
/// other, or with [`migrate_data`].
///
/// Dropped at any await: the connection is closed, and the migration that was running is rolled back.
///
/// # Errors
/// [`PgError::MigrationHeld`], [`PgError::Migration`], or [`PgError`] when the owner can't connect.
pub async fn migrate(migrator: &Migrator, owner: PgConnectOptions) -> Result<(), PgError> {
    let mut connection = PgConnection::connect_with(&owner_options(owner)).await?;
    let ran = migrator.run_direct(None, &mut connection, false).await;
    let closed = connection.close().await;
    ran.map_err(|e| if is_held(&e) { PgError::MigrationHeld } else { PgError::Migration(Redacted::new(e.into())) })?;
    Ok(closed?)
}

/// A migration of data for a file: one `INSERT`, `UPDATE` or `DELETE` without `RETURNING`, over the rows of all tenants.
///
/// FORCE is lifted from the tables that it reads or writes and put back in the same transaction, so everybody else waits
/// for its end: for tables that are small, or a service that stands still. It fails when it touched no row. That needs no
/// procedural language, which a hardened database may have taken away.
///
/// ```
/// # use tenancy_pg::{RowKeyType, TenantTable, data_migration_sql};
/// let note = TenantTable::new("public", "note", "tenant_id", RowKeyType::Uuid)?;
/// let sql = data_migration_sql([&note], "UPDATE note SET title = initcap(title)");
/// assert!(sql.starts_with("ALTER TABLE \"public\".\"note\" NO FORCE ROW LEVEL SECURITY;"));
/// # Ok::<(), tenancy_pg::DeclarationError>(())
/// ```
#[must_use]
pub fn data_migration_sql<'t>(tables: impl IntoIterator<Item = &'t TenantTable>, statement: &str) -> String {
    let tables: Vec<&TenantTable> = tables.into_iter().collect();
    let force = |word| -> String {
        tables.iter().map(|table| format!("ALTER TABLE {} {word} ROW LEVEL SECURITY;\n", table.relation)).collect()
    };
    let statement = statement.trim().trim_end_matches(';');
    // The text becomes a number only when no row was touched, and says why it is none.
    format!(
        "{}WITH touched AS (\n{statement}\nRETURNING 1\n)\nSELECT (CASE count(*) WHEN 0 THEN {} ELSE '1' END)::int FROM touched;\n{}",
        force("NO FORCE"),
        quote_text(NOTHING),
        force("FORCE")
    )
}

/// Runs one statement on data for each of some tenants, each in a transaction of its own in that tenant's scope, and says
/// how many rows it touched. Nobody waits for more than a tenant's rows.
///
/// For plain mode. In signed mode the owner can't scope itself, and policies show it nothing: [`data_migration_sql`].
///
/// Dropped at any await, or failed: what was done for the tenants before stays done, so write it to be run again.
///
/// # Errors
/// [`PgError::NoRowTouched`] when it touched no row of any tenant, [`PgError::RowKeyType`] for a key of another type than
/// the declared tables', [`PgError`] when the server refuses.
pub async fn migrate_data(
    owner: PgConnectOptions,
    declaration: &Declaration,
    tenants: &[RowKey],
    statement: &'static str,
) -> Result<u64, PgError> {
    if !tenants.iter().all(|key| declaration.takes(key)) {
        return Err(PgError::RowKeyType);
    }
    let mut connection = PgConnection::connect_with(&quiet(owner)).await?;
    let mut touched = 0;
    for key in tenants {
        let mut transaction = connection.begin().await?;
        let scope = format!("set local {} = {}", declaration.setting_name().quoted(), quote_text(&key_text(key)));
        transaction.execute(AssertSqlSafe(scope)).await?;
        touched += transaction.execute(statement).await?.rows_affected();
        transaction.commit().await?;
    }
    connection.close().await?;
    if touched == 0 { Err(PgError::NoRowTouched) } else { Ok(touched) }
}

/// Whether row level security stood in the way: the code alone is that of any missing right.
fn is_held(error: &MigrateError) -> bool {
    let (MigrateError::Execute(e) | MigrateError::ExecuteMigration(e, _)) = error else { return false };
    let refused = e.as_database_error().and_then(|e| e.try_downcast_ref::<PgDatabaseError>());
    refused.is_some_and(|e| e.code() == "42501" && e.routine() == Some("check_enable_rls"))
}

const NOTHING: &str = "the migration of data touched no row";
