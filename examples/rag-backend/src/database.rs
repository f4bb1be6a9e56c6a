//! The tables, their policies, and the declaration that the inspection holds them against.

use tenancy_stack::pg::{Declaration, DeclarationError};

/// The migrations, run once by the owner role.
pub static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("./migrations");

/// What is a tenant's and what is not.
///
/// # Errors
/// [`DeclarationError`] when the file is unusable, which it is not.
pub fn declaration() -> Result<Declaration, DeclarationError> {
    Declaration::from_toml(include_str!("../tenancy.toml"))
}
