//! The batches that open and close a scoped transaction.

use std::fmt;
use std::sync::Arc;

use sqlx::Row;
use sqlx::postgres::PgRow;
use tenancy_core::{Life, RowKey, TenantRecord, Zeroizing};

use crate::clean;
use crate::declaration::Setting;
use crate::error::PgError;
use crate::ident::quote_text;
use crate::replica::POINT;
use crate::seeds::Seeds;
use crate::session::Identity;
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
    /// Returns one row after the other: the word of the session; what a seal is made over, where there are seals; and of a
    /// session that is shared, whether it is clean, for whose it was before, nobody knows.
    pub(crate) fn opening(&self, options: TxOptions) -> Opening {
        let mut sql = format!("{}; {}", options.begin(), self.seeds.in_transaction());
        if self.signer.is_none() {
            sql += &format!("set local {} = {}; ", self.setting.quoted(), quote_text(&self.value));
            if self.reach == Some(Reach::Every) {
                sql += &format!("set local {REACH_SETTING} = {}; ", quote_text(EVERY));
            }
        }
        sql += &options.locally();
        sql += self.seeds.who();
        if self.signer.is_some() {
            sql += &format!("; select {NONCE}");
        }
        if !self.seeds.keeps_sessions() {
            sql += &format!("; select {}", clean::FOUND_CLEAN);
        }
        Opening { sql, access: options.access() }
    }

    /// The statement that puts the seal of this transaction into its place; none where scopes are not signed.
    pub(crate) fn sealing(&self, began: &mut Began, nonce: Option<&str>) -> Result<Option<String>, PgError> {
        let Some(Signer { keys, sealed }) = &self.signer else { return Ok(None) };
        let nonce = nonce.ok_or(PgError::RowNotFound)?;
        let (setting, seal) = match sealed {
            Sealed::Tenant { row_key, life } => (SEAL_SETTING, keys.seal(row_key, *life, nonce)?),
            Sealed::Every => (REACH_SETTING, keys.seal_every(nonce)),
        };
        began.seal = seal;
        Ok(Some(format!("set local {setting} = {}", quote_text(&began.seal))))
    }

    /// Proves the scope and ends the transaction.
    ///
    /// Nothing is committed unless the proof holds: the server stops there. A transaction that keeps nothing just shows
    /// its scope, which costs the server a tenth of it.
    pub(crate) fn ending(&self, end: End, began: &Began) -> Ending {
        let proof = self.proof(began);
        let ending =
            |sql, proof_at| Ending { sql, proof_at, end_at: proof_at + 1, shown: Vec::new(), tells_point: false };
        match (end, began.access) {
            // Deferred triggers and the queries of cursors that outlive the transaction run before the proof, or never.
            (End::Commit, Access::ReadWrite) => {
                ending(format!("set constraints all immediate; close all; {proof}; commit"), 2)
            }
            // The log is asked behind the commit, in a transaction of its own.
            (End::CommitAt, Access::ReadWrite) => {
                let sql = format!("set constraints all immediate; close all; {proof}; commit; {POINT}");
                Ending { tells_point: true, ..ending(sql, 2) }
            }
            (End::Commit | End::CommitAt, Access::ReadOnly) => ending(format!("close all; {proof}; commit"), 1),
            (End::Rollback, Access::ReadWrite | Access::ReadOnly) if began.at.is_some() || self.reach.is_some() => {
                ending(format!("{proof}; rollback"), 0)
            }
            (End::Rollback, access) => {
                let mut shown = vec![(self.setting.quoted(), self.value.clone())];
                if self.signer.is_some() {
                    shown.push((SEAL_SETTING.to_owned(), began.seal.to_string()));
                }
                match access {
                    Access::ReadOnly => shown.push(("transaction_read_only".to_owned(), "on".to_owned())),
                    Access::ReadWrite => {}
                }
                Ending::showing(shown, "rollback")
            }
        }
    }

    /// Fails unless this is still the transaction that [`opening`](Self::opening) began, its setting and seal hold what
    /// was put there, and it can't write if it was to read. What it returns says whether it wrote anything. Names are
    /// qualified, so that a search path that the transaction changed can't put other functions in their place.
    fn proof(&self, began: &Began) -> String {
        let mut holds = holds(self.setting.as_str(), &self.value);
        if self.signer.is_some() || self.reach.is_some() {
            holds += &format!(" and {}", self.holds_seals(&began.seal));
        }
        if let Some(at) = &began.at {
            let at = quote_text(at);
            holds +=
                &format!(" and pg_catalog.transaction_timestamp() operator(pg_catalog.=) {at}::pg_catalog.timestamptz");
        }
        let wrote = match began.access {
            Access::ReadWrite => "pg_catalog.pg_current_xact_id_if_assigned() is not null",
            Access::ReadOnly => {
                holds += &format!(" and {}", self::holds("transaction_read_only", "on"));
                "false"
            }
        };
        format!("select 1 operator(pg_catalog./) ({holds})::pg_catalog.int4, {wrote}")
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

    /// Proves the scope in the middle of the transaction and goes on with a command of ours.
    pub(crate) fn proving(&self, began: &Began, command: &str) -> Ending {
        let sql = format!("{}; {command}", self.proof(began));
        Ending { sql, proof_at: 0, end_at: 1, shown: Vec::new(), tells_point: false }
    }

    /// Cleans a session after its transaction. The last two rows show which session it is, before it is told anything, and
    /// what is left there that no command undoes.
    ///
    /// `reset all` undoes session settings that outlived the transaction (`set_config(.., false)` hidden under a local
    /// value, say). A session that is `kept` then holds this scope's row key, which a sealed scope has none of, and
    /// nothing else.
    pub(crate) fn cleaning(&self, identity: &Identity, kept: bool) -> String {
        let question = if self.seeds.keeps_sessions() { clean::QUESTION } else { clean::UNLOCK };
        self.undoing(identity, kept) + question
    }

    /// Shows the scope that a statement without a transaction of its own ran in, where its tenant is at home, and cleans
    /// as [`cleaning`](Self::cleaning). Where the session is kept for the tenant, what no command undoes is `asked` for
    /// when another one moves in.
    pub(crate) fn leaving(&self, identity: &Identity, kept: bool, asked: bool) -> Ending {
        let shown = vec![(self.setting.quoted(), self.value.clone()), ("role".to_owned(), "none".to_owned())];
        let question = if asked { clean::QUESTION } else { clean::UNLOCK };
        Ending::showing(shown, &(self.undoing(identity, kept) + question))
    }

    fn undoing(&self, identity: &Identity, kept: bool) -> String {
        let home = if kept && !self.value.is_empty() {
            format!("set {} = {}; ", self.setting.quoted(), quote_text(&self.value))
        } else {
            String::new()
        };
        format!("{}; {}", self.seeds.who(), clean::undoing(&self.seeds.reset(&identity.word), &home))
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

/// That a setting holds a text. One that nobody has set is empty.
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
    /// Returns the value of one more expression, in the last row.
    pub(crate) fn asking(mut self, expression: &str) -> Self {
        self.sql += &format!("; select {expression}");
        self
    }

    /// What is known of the transaction before the server's answer: nothing that any other could match.
    pub(crate) fn began(&self) -> Began {
        Began { access: self.access, ..Began::nothing() }
    }
}

impl Began {
    /// No transaction at all.
    pub(crate) fn nothing() -> Self {
        Self { access: Access::ReadOnly, at: None, seal: Zeroizing::new(String::new()) }
    }
}

/// Which transaction it is that the closing batch must find.
pub(crate) struct Began {
    access: Access,
    /// When it began, as the server says. Asked for before the connection goes into other hands, which might end the
    /// transaction and begin another.
    pub(crate) at: Option<String>,
    seal: Zeroizing<String>,
}

/// A batch that ends a transaction, and the places of its statements, counted from zero.
pub(crate) struct Ending {
    pub(crate) sql: String,
    pub(crate) proof_at: usize,
    /// After this one the transaction has ended.
    pub(crate) end_at: usize,
    /// What the first rows must be, where the server did not compare.
    shown: Vec<String>,
    /// The second row is the log's.
    pub(crate) tells_point: bool,
}

impl Ending {
    /// Shows settings, which must hold these texts, and goes on with a command.
    fn showing(settings: Vec<(String, String)>, end: &str) -> Self {
        let (names, shown): (Vec<_>, Vec<_>) = settings.into_iter().unzip();
        let shows: String = names.iter().map(|name| format!("show {name}; ")).collect();
        Self { sql: shows + end, proof_at: 0, end_at: shown.len(), shown, tells_point: false }
    }

    /// What is known of the scope where it stopped after so many statements: whether it holds, or nothing yet.
    pub(crate) fn known(&self, completed: usize, rows: &[PgRow]) -> Option<bool> {
        match (self.shown.len(), rows.len()) {
            (0, _) => (completed > self.proof_at).then_some(true),
            (all, some) => (some >= all).then(|| self.holds(rows)),
        }
    }

    /// Whether what was shown is what must be.
    pub(crate) fn holds(&self, rows: &[PgRow]) -> bool {
        let shown = rows.iter().map(|row| row.try_get::<&str, _>(0).ok());
        rows.len() >= self.shown.len() && self.shown.iter().zip(shown).all(|(wanted, shown)| shown == Some(wanted))
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
    /// Commits, and tells how far the log has come behind that.
    CommitAt,
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
        let start = "begin read only; set local \"tenancy.row_key\" = '-7'; set local statement_timeout = 1000; show ";
        assert!(opening.starts_with(start), "{opening}");
        let patient = scope.opening(TxOptions::new()).sql;
        assert!(patient.starts_with("begin; set local \"tenancy.row_key\" = '-7'; show "), "{patient}");
        assert!(!format!("{scope:?}").contains('7'));
    }
}
