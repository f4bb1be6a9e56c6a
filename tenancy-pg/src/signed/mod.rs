//! The signed scope: a row key that injected SQL can't change.
//!
//! In the plain modes the row key is a setting, and any SQL may set it. In signed mode the setting holds a *seal*: the
//! row key with a MAC over it, the tenant's life, the database, the backend and the start of the transaction. Policies
//! ask a verifier on the server, which computes the MAC itself and looks the life up in the registry. Whoever has no
//! signing key can make no other seal, and a copied one is worth nothing in another transaction.
//!
//! `docs/postgres/signed.md` says when this matters, how keys are rotated and what it does not hide.

mod hardening;
mod keys;
mod known;
mod rotation;
mod schema;
mod seal;
mod verifier;

pub(crate) use hardening::{functions, hardening_sql};
pub use keys::{SigningKey, SigningKeyError, SigningKeyId, SigningKeys};
pub(crate) use known::ensure_known;
pub use rotation::{retire_key_sql, signing_key_sql};
pub(crate) use schema::OWNER_ROLE;
pub use schema::{registrar_sql, signed_schema_sql};
pub(crate) use seal::{EVERY, NONCE, REACH_SETTING, SEAL_SETTING};
pub(crate) use verifier::{SCHEMA, SEARCH_PATH, Verifier};
