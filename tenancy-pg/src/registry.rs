//! Row keys as texts.

use tenancy_core::RowKey;

use crate::declaration::RowKeyType;
use crate::error::PgError;

/// A row key's type, and its text as the server prints the type.
pub(crate) fn row_key_text(key: &RowKey) -> Result<(RowKeyType, String), PgError> {
    match key {
        RowKey::Uuid(id) => Ok((RowKeyType::Uuid, id.hyphenated().to_string())),
        RowKey::BigInt(number) => Ok((RowKeyType::BigInt, number.to_string())),
        RowKey::Text(text) => Ok((RowKeyType::Text, text.as_str().to_owned())),
        _unknown => Err(PgError::RowKeyType),
    }
}
