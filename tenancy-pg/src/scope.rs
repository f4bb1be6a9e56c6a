//! The batches that open and close a scoped transaction.

use std::fmt;
use std::sync::Arc;

use tenancy_core::{Life, RowKey, TenantRecord, Zeroizing};
use uuid::Uuid;

use crate::declaration::Setting;
use crate::error::PgError;
use crate::ident::quote_text;
use crate::seeds::Seeds;
use crate::session::{IDENTITY, Identity};
use crate::signed::{EVERY, NONCE, REACH_SETTING, SEAL_SETTING, SigningKeys};
use crate::tx_options::TxOptions;

/// Whose transaction it is: the setting and the text it must hold from the first statement to the last, or what seals it.
///
/// The text comes from a typed [`RowKey`] or is empty; nothing else can be put into a batch.
pub(crate) struct Scope {
    setting: Setting,
    value: String,
    /// How far it reaches where it is an operator's.
    reach: Option<Reach>,
    signer: Option<Signer>,
    life: Option<Life>,
    seeds: Arc<Seeds>,
}

/// How far an operator's scope reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    One,
    Every,
}

/// What a seal is for, and with what it is made.
struct Signer {
    keys: SigningKeys,
    sealed: Sealed,
}

enum Sealed {
    Tenant { row_key: RowKey, life: Life },
    Every,
}

impl Scope {
    /// The scope of a tenant. A sealed one leaves the plain setting empty.
    pub(crate) fn of(
        setting: &Setting,
        tenant: &TenantRecord,
        keys: Option<&SigningKeys>,
        seeds: &Arc<Seeds>,
    ) -> Result<Self, PgError> {
        let row_key = tenant.row_key();
        let (value, signer) = match keys {
            Some(keys) => {
                let sealed = Sealed::Tenant { row_key: row_key.clone(), life: tenant.life() };
                (String::new(), Some(Signer { keys: keys.clone(), sealed }))
            }
            None => (text_of(row_key)?, None),
        };
        let (life, seeds) = (Some(tenant.life()), Arc::clone(seeds));
        Ok(Self { setting: setting.clone(), value, reach: None, signer, life, seeds })
    }

    /// An operator's scope over one tenant: the same, and it does not reach further.
    pub(crate) fn of_report(
        setting: &Setting,
        tenant: &TenantRecord,
        keys: Option<&SigningKeys>,
        seeds: &Arc<Seeds>,
    ) -> Result<Self, PgError> {
        Ok(Self { reach: Some(Reach::One), life: None, ..Self::of(setting, tenant, keys, seeds)? })
    }

    /// An operator's scope over every tenant, in nobody's name.
    pub(crate) fn of_reports(setting: &Setting, keys: Option<&SigningKeys>, seeds: &Arc<Seeds>) -> Self {
        let signer = keys.map(|keys| Signer { keys: keys.clone(), sealed: Sealed::Every });
        Self { reach: Some(Reach::Every), signer, ..Self::nobody(setting, seeds) }
    }

    /// Nobody's scope: policies compare with NULL and show no row.
    pub(crate) fn nobody(setting: &Setting, seeds: &Arc<Seeds>) -> Self {
        let (value, seeds) = (String::new(), Arc::clone(seeds));
        Self { setting: setting.clone(), value, reach: None, signer: None, life: None, seeds }
    }

    /// Who is at home where this scope's row key is kept.
    pub(crate) const fn life(&self) -> Option<Life> {
        self.life
    }

    /// Begins and sets the scope in one round-trip. `SET LOCAL` ends with the transaction, whatever ends it.
    ///
    /// The last statement returns, in this order:
    /// - when the transaction began, which no other transaction can repeat;
    /// - the backend;
    /// - what a seal is made over, or nothing;
    /// - on a session that is shared, whether it is clean: whose it was before, nobody knows.
    ///
    /// It is a query, too, and after the first one the server refuses to change the isolation level, or to make a
    /// transaction that only reads one that writes.
    pub(crate) fn opening(&self, options: TxOptions) -> Opening {
        let mut sql = format!("{}; {}", options.begin(), self.seeds.in_transaction());
        if self.signer.is_none() {
            sql += &format!("set local {} = {}; ", self.setting.quoted(), quote_text(&self.value));
            if self.reach == Some(Reach::Every) {
                sql += &format!("set local {REACH_SETTING} = {}; ", quote_text(EVERY));
            }
        }
        sql += &options.locally();
        let nonce = if self.signer.is_some() { NONCE } else { "''" };
        let clean = if self.seeds.keeps_sessions() { "true" } else { CLEAN };
        sql += &format!("select {BEGAN_AT}, pg_catalog.pg_backend_pid(), {nonce}, {clean}");
        Opening { sql, access: options.access() }
    }

    /// The statement that puts the seal of this transaction into its place; none where scopes are not signed.
    pub(crate) fn sealing(&self, began: &mut Began, nonce: &str) -> Result<Option<String>, PgError> {
        let Some(Signer { keys, sealed }) = &self.signer else { return Ok(None) };
        let (setting, seal) = match sealed {
            Sealed::Tenant { row_key, life } => (SEAL_SETTING, keys.seal(row_key, *life, nonce)?),
            Sealed::Every => (REACH_SETTING, keys.seal_every(nonce)),
        };
        began.seal = seal;
        Ok(Some(format!("set local {setting} = {}", quote_text(&began.seal))))
    }

    /// Proves the scope and ends the transaction.
    ///
    /// Nothing after the proof runs unless it holds: no commit. What it returns says whether the transaction wrote
    /// anything.
    pub(crate) fn ending(&self, end: End, began: &Began) -> Ending {
        let proof = self.proof(began);
        match (end, began.access) {
            // Deferred triggers run before the proof and not after it.
            (End::Commit, Access::ReadWrite) => {
                Ending { sql: format!("set constraints all immediate; {proof}; commit"), proof_at: 1, end_at: 2 }
            }
            (End::Commit, Access::ReadOnly) => Ending { sql: format!("{proof}; commit"), proof_at: 0, end_at: 1 },
            (End::Rollback, Access::ReadWrite | Access::ReadOnly) => {
                Ending { sql: format!("{proof}; rollback"), proof_at: 0, end_at: 1 }
            }
        }
    }

    /// Fails unless this is still the transaction that [`opening`](Self::opening) began, its setting and seal hold what
    /// was put there, it can't write if it was to read, and no cursor would run its query on at the commit. Names are
    /// qualified, so that a search path that the transaction changed can't put other functions in their place.
    pub(crate) fn proof(&self, began: &Began) -> String {
        let kept_access = match began.access {
            Access::ReadWrite => "true",
            Access::ReadOnly => READ_ONLY_STILL,
        };
        format!(
            "select 1 operator(pg_catalog./) ({} and {} \
             and {BEGAN_AT} operator(pg_catalog.=) {} and {kept_access} \
             and not exists (select from pg_catalog.pg_cursors where is_holdable))::pg_catalog.int4, \
             pg_catalog.pg_current_xact_id_if_assigned() is not null",
            holds(self.setting.as_str(), &self.value),
            self.holds_seals(&began.seal),
            began.at
        )
    }

    /// That the seal, and an operator's reach, are what was put there.
    fn holds_seals(&self, seal: &str) -> String {
        match self.reach {
            None => holds(SEAL_SETTING, seal),
            Some(Reach::One) => format!("{} and {}", holds(SEAL_SETTING, seal), holds(REACH_SETTING, "")),
            Some(Reach::Every) => {
                let reach = if self.signer.is_some() { seal } else { EVERY };
                format!("{} and {}", holds(SEAL_SETTING, ""), holds(REACH_SETTING, reach))
            }
        }
    }

    /// Proves that a statement without a transaction of its own ran in this scope, where its tenant is at home, and left
    /// none open: the first statement of a message that is in no transaction begins one at the same moment.
    pub(crate) fn reading_back(&self) -> Ending {
        let sql = format!(
            "select 1 operator(pg_catalog./) ({} and {} \
             and session_user operator(pg_catalog.=) current_user \
             and pg_catalog.transaction_timestamp() operator(pg_catalog.=) pg_catalog.statement_timestamp() \
             and not exists (select from pg_catalog.pg_cursors where is_holdable))::pg_catalog.int4",
            holds(self.setting.as_str(), &self.value),
            holds(SEAL_SETTING, ""),
        );
        Ending { sql, proof_at: 0, end_at: 0 }
    }

    /// Cleans a session after its transaction and shows, in the last row, that it is clean and which one it is.
    ///
    /// `reset all` undoes session settings that outlived the transaction (`set_config(.., false)` hidden under a local
    /// value, say), and `setseed` a seed that somebody chose for the next borrower's `random()`. A session that is `kept`
    /// then holds this scope's row key, which a sealed scope has none of, and nothing else.
    pub(crate) fn cleaning(&self, identity: &Identity, kept: bool) -> String {
        // On a shared session the prepared statements are other clients', and temporary objects were discarded, which
        // leaves their schema.
        let (own, count, statements) = if self.seeds.keeps_sessions() {
            (ONLY_OWN, "pg_catalog.count(*)", " from pg_catalog.pg_prepared_statements")
        } else {
            ("true", "0::pg_catalog.int8", "")
        };
        let value = if kept { self.value.as_str() } else { "" };
        let home = if value.is_empty() {
            String::new()
        } else {
            format!("set {} = {}; ", self.setting.quoted(), quote_text(value))
        };
        format!(
            "{}close all; unlisten *; discard sequences; {home}\
             select {} and {} and {} and session_user operator(pg_catalog.=) current_user and {own}, {count}, {IDENTITY}, \
             pg_catalog.pg_advisory_unlock_all(), pg_catalog.setseed({}){statements}",
            self.seeds.reset(&identity.word),
            holds(self.setting.as_str(), value),
            holds(SEAL_SETTING, ""),
            holds(REACH_SETTING, ""),
            seed()
        )
    }

    /// For a transaction in which a statement failed: it proves nothing any more and takes nothing but a rollback.
    pub(crate) fn abandoning(&self, identity: &Identity, kept: bool) -> String {
        format!("rollback; {}", self.cleaning(identity, kept))
    }
}

/// The row key as a setting holds it.
pub(crate) fn text_of(row_key: &RowKey) -> Result<String, PgError> {
    match row_key {
        RowKey::Uuid(id) => Ok(id.hyphenated().to_string()),
        RowKey::BigInt(number) => Ok(number.to_string()),
        RowKey::Text(text) => Ok(text.as_str().to_owned()),
        _unknown => Err(PgError::RowKeyType),
    }
}

/// That a setting holds a text.
fn holds(setting: &str, text: &str) -> String {
    let (setting, text) = (quote_text(setting), quote_text(text));
    format!("coalesce(pg_catalog.current_setting({setting}, true), '') operator(pg_catalog.=) {text}")
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({})", self.setting.as_str())
    }
}

/// A batch that opens a transaction.
pub(crate) struct Opening {
    pub(crate) sql: String,
    access: Access,
}

impl Opening {
    /// What is known of the transaction before the server's answer: nothing that any other could match.
    pub(crate) fn began(&self) -> Began {
        Began { access: self.access, at: 0, seal: Zeroizing::new(String::new()) }
    }
}

impl Began {
    /// No transaction at all.
    pub(crate) fn nothing() -> Self {
        Self { access: Access::ReadOnly, at: 0, seal: Zeroizing::new(String::new()) }
    }
}

/// Which transaction it is that the closing batch must find.
pub(crate) struct Began {
    access: Access,
    /// When it began, as the server says.
    pub(crate) at: i64,
    seal: Zeroizing<String>,
}

/// A batch that ends a transaction, and the places of its statements, counted from zero.
pub(crate) struct Ending {
    pub(crate) sql: String,
    pub(crate) proof_at: usize,
    /// After this one the transaction has ended.
    pub(crate) end_at: usize,
}

/// A seed that nobody could have chosen, between 0 and 1.
fn seed() -> String {
    format!("'0.{:015}'::pg_catalog.float8", Uuid::new_v4().as_u128() % 1_000_000_000_000_000)
}

/// When the transaction began, in microseconds: an integer reads the same whatever the session's settings are.
const BEGAN_AT: &str = "(extract(epoch from pg_catalog.transaction_timestamp()) operator(pg_catalog.*) \
                        '1000000')::pg_catalog.int8";
const CLEAN: &str = "current_user operator(pg_catalog.=) session_user \
                     and not exists (select from pg_catalog.pg_prepared_statements where from_sql) \
                     and (pg_catalog.pg_my_temp_schema() operator(pg_catalog.=) 0::pg_catalog.oid or not exists \
                     (select from pg_catalog.pg_depend \
                      where refclassid operator(pg_catalog.=) 'pg_catalog.pg_namespace'::pg_catalog.regclass \
                      and refobjid operator(pg_catalog.=) pg_catalog.pg_my_temp_schema()))";
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
    use std::time::SystemTime;

    use sqlx::postgres::PgConnectOptions;
    use tenancy_core::TenantId;

    use super::*;
    use crate::{Declaration, PgOptions};

    #[test]
    fn the_opening_batch_holds_the_key_as_a_quoted_text() {
        let declaration = Declaration::builder().build().unwrap();
        let options = PgOptions::new(PgConnectOptions::new_without_pgpass());
        let seeds = Arc::new(options.seeds(declaration.setting()));
        let name = TenantId::parse("acme").unwrap();
        let tenant = TenantRecord::new(name, Life::random(), SystemTime::now()).row_key_of(RowKey::BigInt(-7));
        let scope = Scope::of(declaration.setting_name(), &tenant, None, &seeds).unwrap();
        let second = std::time::Duration::from_secs(1);
        let opening = scope.opening(TxOptions::new().read_only().within(second, Some(second))).sql;
        let start =
            "begin read only; set local \"tenancy.row_key\" = '-7'; set local statement_timeout = 1000; select ";
        assert!(opening.starts_with(start), "{opening}");
        let patient = scope.opening(TxOptions::new()).sql;
        assert!(patient.starts_with("begin; set local \"tenancy.row_key\" = '-7'; select "), "{patient}");
        assert!(!format!("{scope:?}").contains('7'));
    }
}
