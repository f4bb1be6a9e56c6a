//! The batches that open and close a scoped transaction.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenancy_core::RowKey;
use uuid::Uuid;

use crate::declaration::Setting;
use crate::error::PgError;
use crate::ident::quote_text;
use crate::seeds::{Seeds, millis};

/// Whose transaction it is: the setting and the text it must hold from the first statement to the last.
///
/// The text comes from a typed [`RowKey`] or is empty; nothing else can be put into a batch.
pub(crate) struct Scope {
    setting: Setting,
    value: String,
    seeds: Arc<Seeds>,
}

impl Scope {
    /// The scope of a tenant.
    pub(crate) fn of(setting: &Setting, key: &RowKey, seeds: &Arc<Seeds>) -> Result<Self, PgError> {
        let value = match key {
            RowKey::Uuid(id) => id.hyphenated().to_string(),
            RowKey::BigInt(number) => number.to_string(),
            RowKey::Text(text) => text.as_str().to_owned(),
            _unknown => return Err(PgError::RowKeyType),
        };
        Ok(Self { setting: setting.clone(), value, seeds: Arc::clone(seeds) })
    }

    /// Nobody's scope: policies compare with NULL and show no row.
    pub(crate) fn nobody(setting: &Setting, seeds: &Arc<Seeds>) -> Self {
        Self { setting: setting.clone(), value: String::new(), seeds: Arc::clone(seeds) }
    }

    /// Begins and sets the scope in one round-trip. `SET LOCAL` ends with the transaction, whatever ends it.
    ///
    /// `statement_timeout` is for a caller with less time than every session starts with. The last statement tells when
    /// the transaction began, which no other transaction can repeat. It is a query, too, and after the first one the
    /// server refuses to make a transaction that only reads one that writes.
    pub(crate) fn opening(&self, access: Access, statement_timeout: Option<Duration>) -> Opening {
        let begin = match access {
            Access::ReadWrite => "begin",
            Access::ReadOnly => "begin read only",
        };
        let (setting, value) = (self.setting.quoted(), quote_text(&self.value));
        let mut sql = format!("{begin}; {}set local {setting} = {value}; ", self.seeds.in_transaction());
        if let Some(timeout) = statement_timeout {
            let least = timeout.max(Duration::from_millis(1));
            sql += &format!("set local statement_timeout = {}; ", millis(least));
        }
        sql += &format!("select {BEGAN_AT}");
        Opening { sql, began: Began { access, at: 0 } }
    }

    /// Proves the scope and ends the transaction.
    ///
    /// The first statement fails unless this is still the transaction that [`opening`](Self::opening) began, its setting
    /// holds what was put there, and it can't write if it was to read; then nothing after it runs: no commit. What it
    /// returns says whether the transaction wrote anything. Names are qualified, so that a search path that the
    /// transaction changed can't put other functions in their place.
    pub(crate) fn ending(&self, end: End, began: Began) -> String {
        let (read, value) = (self.read_back(), quote_text(&self.value));
        let kept_access = match began.access {
            Access::ReadWrite => "true",
            Access::ReadOnly => READ_ONLY_STILL,
        };
        let verify = format!(
            "select 1 operator(pg_catalog./) (coalesce({read}, '') operator(pg_catalog.=) {value} \
             and {BEGAN_AT} operator(pg_catalog.=) {} and {kept_access})::pg_catalog.int4, \
             pg_catalog.pg_current_xact_id_if_assigned() is not null",
            began.at
        );
        match end {
            End::Commit => format!("{verify}; commit"),
            End::Rollback => format!("{verify}; rollback"),
        }
    }

    /// Cleans a session after its transaction and shows, in the last row, that it is clean.
    ///
    /// `reset all` undoes session settings that outlived the transaction (`set_config(.., false)` hidden under a local
    /// value, say), and `setseed` a seed that somebody chose for the next borrower's `random()`.
    pub(crate) fn cleaning(&self) -> String {
        let read = self.read_back();
        // On a shared session the prepared statements are other clients', and temporary objects were discarded, which
        // leaves their schema.
        let (own, count, statements) = if self.seeds.keeps_sessions() {
            (ONLY_OWN, "pg_catalog.count(*)", " from pg_catalog.pg_prepared_statements")
        } else {
            ("true", "0::pg_catalog.int8", "")
        };
        format!(
            "{}close all; unlisten *; discard sequences; \
             select coalesce({read}, '') operator(pg_catalog.=) '' \
             and session_user operator(pg_catalog.=) current_user and {own}, \
             {count}, pg_catalog.pg_advisory_unlock_all(), pg_catalog.setseed({}){statements}",
            self.seeds.reset(),
            seed()
        )
    }

    /// For a transaction in which a statement failed: it proves nothing any more and takes nothing but a rollback.
    pub(crate) fn abandoning(&self) -> String {
        format!("rollback; {}", self.cleaning())
    }

    fn read_back(&self) -> String {
        format!("pg_catalog.current_setting({}, true)", quote_text(self.setting.as_str()))
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({})", self.setting.as_str())
    }
}

/// A batch that opens a transaction, and what is known of it before the server's answer.
pub(crate) struct Opening {
    pub(crate) sql: String,
    pub(crate) began: Began,
}

/// Which transaction it is that the closing batch must find.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Began {
    access: Access,
    /// What [`opening`](Scope::opening) returned; zero, which matches none, until it did.
    pub(crate) at: i64,
}

/// A seed that nobody could have chosen, between 0 and 1.
fn seed() -> String {
    format!("'0.{:015}'::pg_catalog.float8", Uuid::new_v4().as_u128() % 1_000_000_000_000_000)
}

/// When the transaction began, in microseconds: an integer reads the same whatever the session's settings are.
const BEGAN_AT: &str = "(extract(epoch from pg_catalog.transaction_timestamp()) operator(pg_catalog.*) \
                        '1000000')::pg_catalog.int8";
const ONLY_OWN: &str = "pg_catalog.pg_my_temp_schema() operator(pg_catalog.=) 0::pg_catalog.oid \
                        and not coalesce(pg_catalog.bool_or(from_sql), false)";
const READ_ONLY_STILL: &str = "pg_catalog.current_setting('transaction_read_only') operator(pg_catalog.=) 'on'";

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
}

#[cfg(test)]
mod tests {
    use sqlx::postgres::PgConnectOptions;

    use super::*;
    use crate::{Declaration, PgOptions};

    #[test]
    fn the_opening_batch_holds_the_key_as_a_quoted_text() {
        let declaration = Declaration::builder().build().unwrap();
        let options = PgOptions::new(PgConnectOptions::new_without_pgpass());
        let seeds = Arc::new(options.seeds(declaration.setting()));
        let scope = Scope::of(declaration.setting_name(), &RowKey::BigInt(-7), &seeds).unwrap();
        let opening = scope.opening(Access::ReadOnly, Some(Duration::from_secs(2))).sql;
        let start =
            "begin read only; set local \"tenancy.row_key\" = '-7'; set local statement_timeout = 2000; select ";
        assert!(opening.starts_with(start), "{opening}");
        // Zero would mean no limit.
        assert!(scope.opening(Access::ReadWrite, Some(Duration::ZERO)).sql.contains("= 1; select "));
        let patient = scope.opening(Access::ReadWrite, None).sql;
        assert!(patient.starts_with("begin; set local \"tenancy.row_key\" = '-7'; select "), "{patient}");
        assert!(!format!("{scope:?}").contains('7'));
    }
}
