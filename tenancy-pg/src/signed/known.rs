//! Whether the database knows the key that signs.

use sqlx::Row;
use sqlx::postgres::PgConnection;

use super::keys::SigningKeys;
use super::seal::{NONCE, REACH_SETTING};
use super::verifier::Verifier;
use crate::batch::batch;
use crate::error::PgError;
use crate::ident::quote_text;

/// Has the server verify a seal in which there is no tenant, so that a key which is good for nothing there is found out
/// before anybody is served with it. Two round-trips, and nothing is left on the connection.
///
/// # Errors
/// [`PgError::SigningKey`] for a key that the database does not know, has retired, or has another of under the same id:
/// it does not say which. Or what else the server says.
pub(crate) async fn ensure_known(connection: &mut PgConnection, keys: &SigningKeys) -> Result<(), PgError> {
    let opened = batch(connection, &format!("begin read only; select {NONCE}")).await.map_err(sqlx::Error::from)?;
    let nonce: String = opened.first().ok_or(PgError::RowNotFound)?.try_get(0)?;
    let (id, seal) = keys.seal_known(&nonce);
    let (seal, call) = (quote_text(&seal), Verifier::Known.call());
    let asked = batch(connection, &format!("set local {REACH_SETTING} = {seal}; select {call}; rollback")).await;
    match asked.map_err(|stopped| PgError::from(stopped.error)) {
        Ok(rows) if rows.last().is_some_and(|row| row.try_get(0).is_ok_and(|known: bool| known)) => Ok(()),
        Ok(_unknown) => Err(PgError::SigningKey(id)),
        Err(PgError::Database(refused)) if refused.sqlstate() == Some(SEAL_REFUSED) => Err(PgError::SigningKey(id)),
        Err(error) => Err(error),
    }
}

/// What the verifiers raise (`invalid_authorization_specification`).
const SEAL_REFUSED: &str = "28000";
