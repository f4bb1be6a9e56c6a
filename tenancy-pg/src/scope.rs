//! The batches that open and close a scoped transaction.

use std::fmt;
use std::time::Duration;

use tenancy_core::RowKey;

use crate::declaration::Setting;
use crate::error::PgError;
use crate::ident::quote_text;

/// Whose transaction it is: the setting and the text it must hold from the first statement to the last.
///
/// The text comes from a typed [`RowKey`] or is empty; nothing else can be put into a batch.
pub(crate) struct Scope {
    setting: Setting,
    value: String,
}

impl Scope {
    /// The scope of a tenant.
    pub(crate) fn of(setting: &Setting, key: &RowKey) -> Result<Self, PgError> {
        let value = match key {
            RowKey::Uuid(id) => id.hyphenated().to_string(),
            RowKey::BigInt(number) => number.to_string(),
            RowKey::Text(text) => text.as_str().to_owned(),
            _unknown => return Err(PgError::RowKeyType),
        };
        Ok(Self { setting: setting.clone(), value })
    }

    /// Nobody's scope: policies compare with NULL and show no row.
    pub(crate) fn nobody(setting: &Setting) -> Self {
        Self { setting: setting.clone(), value: String::new() }
    }

    /// Begins and sets the scope in one round-trip. `SET LOCAL` ends with the transaction, whatever ends it.
    pub(crate) fn opening(&self, access: Access, timeout: Duration) -> String {
        let begin = match access {
            Access::ReadWrite => "begin",
            Access::ReadOnly => "begin read only",
        };
        // Zero would mean no limit.
        let millis = timeout.as_millis().clamp(1, MAX_TIMEOUT_MILLIS);
        let (setting, value) = (self.setting.quoted(), quote_text(&self.value));
        format!("{begin}; set local {setting} = {value}; set local statement_timeout = {millis}")
    }

    /// Proves the scope, ends the transaction, cleans the session and shows that it is clean; one round-trip.
    ///
    /// The first statement fails unless the setting still holds what [`opening`](Self::opening) put there, and then
    /// nothing after it runs: no commit. What it returns says whether the transaction wrote anything. After the end
    /// `reset all` undoes session settings that outlived it (`set_config(.., false)` hidden under a local value, say).
    /// Names are qualified, so that a search path that the transaction changed can't put other functions in their
    /// place.
    pub(crate) fn closing(&self, end: End) -> String {
        let setting = quote_text(self.setting.as_str());
        let (read, value) = (format!("pg_catalog.current_setting({setting}, true)"), quote_text(&self.value));
        let verify = format!(
            "select 1 operator(pg_catalog./) (coalesce({read}, '') operator(pg_catalog.=) {value})::pg_catalog.int4, \
             pg_catalog.pg_current_xact_id_if_assigned() is not null"
        );
        let end = match end {
            End::Commit => format!("{verify}; commit"),
            End::Rollback => format!("{verify}; rollback"),
            End::Aborted => "rollback".to_owned(),
        };
        let proof = format!(
            "select coalesce({read}, '') operator(pg_catalog.=) '' \
             and session_user operator(pg_catalog.=) current_user \
             and pg_catalog.pg_my_temp_schema() operator(pg_catalog.=) 0::pg_catalog.oid \
             and not coalesce(pg_catalog.bool_or(from_sql), false), \
             pg_catalog.count(*), pg_catalog.pg_advisory_unlock_all() from pg_catalog.pg_prepared_statements"
        );
        format!("{end}; reset all; close all; unlisten *; discard sequences; {proof}")
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({})", self.setting.as_str())
    }
}

/// What a transaction may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    ReadWrite,
    ReadOnly,
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Commit,
    Rollback,
    /// A statement failed, so the scope can't be proven any more: nothing but a rollback is taken.
    Aborted,
}

/// The server keeps the number in 32 bits.
const MAX_TIMEOUT_MILLIS: u128 = i32::MAX as u128;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Declaration;

    #[test]
    fn the_opening_batch_holds_the_key_as_a_quoted_text() {
        let declaration = Declaration::builder().build().unwrap();
        let scope = Scope::of(declaration.setting_name(), &RowKey::BigInt(-7)).unwrap();
        assert_eq!(
            scope.opening(Access::ReadOnly, Duration::from_secs(2)),
            "begin read only; set local \"tenancy.row_key\" = '-7'; set local statement_timeout = 2000"
        );
        assert!(scope.opening(Access::ReadWrite, Duration::ZERO).ends_with("= 1"));
        assert!(!format!("{scope:?}").contains('7'));
    }
}
