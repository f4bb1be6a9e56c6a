//! Migrations, on an owner's connection that does not outlive them.

use sqlx::Connection;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tenancy_core::Redacted;

use crate::error::PgError;
use crate::options::quiet;

/// Runs the migrations that are not applied yet, as the owner, and closes the connection.
///
/// The service's own role needs no right to change the schema, and the inspection refuses one that has it. Mind that
/// the owner is under FORCE too: a migration of data that sets no row key changes no row, silently; set it, or switch
/// FORCE off and on again inside the same migration.
///
/// Dropped at any await: the connection is closed, and the migration that was running is rolled back.
///
/// # Errors
/// [`PgError::Migration`], or [`PgError`] when the owner can't connect.
pub async fn migrate(migrator: &Migrator, owner: PgConnectOptions) -> Result<(), PgError> {
    let mut connection = PgConnection::connect_with(&quiet(owner)).await?;
    let ran = migrator.run_direct(None, &mut connection, false).await;
    let closed = connection.close().await;
    ran.map_err(|e| PgError::Migration(Redacted::new(e.into())))?;
    Ok(closed?)
}
