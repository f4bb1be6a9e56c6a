//! The settings that every session starts with and goes back to.

use std::time::Duration;

use sqlx::postgres::PgConnectOptions;

use crate::error::PgError;
use crate::ident::{quote_ident, quote_text};
use crate::pooler::Pooler;
use crate::session::refuses_the_start;

/// Names and values, in the order in which they are set, and how they get to the server. Nothing of a tenant's is among
/// them.
#[derive(Clone)]
pub(crate) struct Seeds {
    pairs: Vec<(String, String)>,
    pooler: Pooler,
}

impl Seeds {
    /// What this crate relies on, whatever a role, database or server says:
    ///
    /// - the row key is empty, so a policy compares with NULL until a scope was opened;
    /// - notices stay on the server: they quote row keys and data;
    /// - a quote ends a text the way the statement guard reads it;
    /// - names resolve in the given schemas and in no other. Temporary objects come last: unnamed, `pg_temp` would be
    ///   searched first, and a temporary table would stand in for the real one;
    /// - a transaction may write, sees what was committed before each statement and is kept once it is committed, and
    ///   policies are not switched off for errors.
    pub(crate) fn new(
        row_key: &str,
        search_path: &str,
        time_outs: &TimeOuts,
        synchronous_commit: SynchronousCommit,
        pooler: Pooler,
    ) -> Self {
        let seed = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut pairs = vec![
            seed(row_key, ""),
            seed("client_min_messages", "error"),
            seed("standard_conforming_strings", "on"),
            seed("search_path", search_path),
            seed("default_transaction_isolation", "read committed"),
            seed("default_transaction_read_only", "off"),
            seed("row_security", "on"),
            seed("synchronous_commit", synchronous_commit.sql()),
        ];
        let TimeOuts { statement, lock, idle_in_transaction } = time_outs;
        for (name, time_out) in [
            ("statement_timeout", statement),
            ("lock_timeout", lock),
            ("idle_in_transaction_session_timeout", idle_in_transaction),
        ] {
            pairs.push(seed(name, &millis(*time_out).to_string()));
        }
        Self { pairs, pooler }
    }

    /// And one more.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Self {
        self.pairs.push((name.to_owned(), value.to_owned()));
        self
    }

    /// In the startup message, which makes them what `reset all` brings back. PgBouncer refuses startup parameters that
    /// it does not track, and `extra_float_digits` is one.
    pub(crate) fn at_startup(&self, options: PgConnectOptions, word: &str) -> PgConnectOptions {
        match self.pooler {
            Pooler::None => {
                options.options(self.pairs.iter().map(|(n, v)| (n.as_str(), v.as_str())).chain([(WORD, word)]))
            }
            Pooler::Session | Pooler::Transaction => options.extra_float_digits(None),
        }
    }

    /// What an error at the start means: a startup message that is refused, where nothing should have looked at it, was
    /// seen by a pooler.
    pub(crate) fn refusal(&self, error: sqlx::Error) -> sqlx::Error {
        match (&error, self.pooler) {
            (sqlx::Error::Database(e), Pooler::None) if refuses_the_start(&**e) => PgError::PoolerMismatch.into(),
            (_other, Pooler::None | Pooler::Session | Pooler::Transaction) => error,
        }
    }

    /// Statements for a session that could not be told at its start; empty or with a semicolon at the end.
    pub(crate) fn after_connecting(&self, word: &str) -> String {
        match self.pooler {
            Pooler::Session => format!("{}set {WORD} = '{word}'; ", self.statements("set")),
            Pooler::None | Pooler::Transaction => String::new(),
        }
    }

    /// Statements for a transaction on a session that nobody has prepared; as [`after_connecting`](Self::after_connecting).
    pub(crate) fn in_transaction(&self) -> String {
        match self.pooler {
            Pooler::Transaction => self.statements("set local"),
            Pooler::None | Pooler::Session => String::new(),
        }
    }

    /// Puts every setting of a session back to where it started; with a semicolon at the end.
    ///
    /// Behind a pooler the settings that the driver counts on are the session's of another client, or were set by the
    /// pooler, and `reset all` takes them away too. A transaction pooler's session is cleaned of what would otherwise be
    /// found by the next opening and cost the session. Its prepared statements are none of this crate's, which gives
    /// them no names there.
    pub(crate) fn reset(&self, word: &str) -> String {
        match self.pooler {
            Pooler::None => "reset all; ".to_owned(),
            Pooler::Session => format!("reset all; {DRIVER}{}", self.after_connecting(word)),
            Pooler::Transaction => format!("reset all; discard temp; deallocate all; {DRIVER}"),
        }
    }

    /// Says which session it is: with its word, where it has one.
    pub(crate) fn who(&self) -> &'static str {
        match self.pooler {
            Pooler::None => "show \"tenancy.connection\"",
            // It may be one that never heard of the word.
            Pooler::Session => "select coalesce(pg_catalog.current_setting('tenancy.connection', true), '')",
            Pooler::Transaction => "select ''",
        }
    }

    fn statements(&self, set: &str) -> String {
        let one = |(name, value): &(String, String)| {
            // A list is not one text.
            let value = if name == "search_path" { value.clone() } else { quote_text(value) };
            let name = name.split('.').map(quote_ident).collect::<Vec<_>>().join(".");
            format!("{set} {name} = {value}; ")
        };
        self.pairs.iter().map(one).collect()
    }

    /// Whether two connections might have one backend, if the pooler is not what it was declared to be. Where there is no
    /// pooler the words show it, and the backend of a connection that has died is free for another.
    pub(crate) const fn may_share_backends(&self) -> bool {
        matches!(self.pooler, Pooler::Session)
    }

    /// Whether a session is this client's own, with the prepared statements in it.
    pub(crate) const fn keeps_sessions(&self) -> bool {
        self.pooler.keeps_sessions()
    }
}

/// The schemas, quoted, and the temporary one after them.
pub(crate) fn search_path_sql(schemas: &[String]) -> String {
    schemas.iter().map(|schema| quote_ident(schema) + ", ").chain(["pg_temp".to_owned()]).collect()
}

/// As sqlx's startup message has them.
const DRIVER: &str = "set client_encoding = 'UTF8'; set timezone = 'UTC'; set datestyle = 'ISO, MDY'; ";

/// The setting that holds the word that a connection is known by.
const WORD: &str = "tenancy.connection";

/// When the server says that a commit is kept (`synchronous_commit`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SynchronousCommit {
    /// Once it is on the server's own disk, and on that of synchronous replicas where there are any.
    #[default]
    On,
    /// At once: the last commits are lost when the server crashes.
    Off,
    /// Once it is on the server's own disk.
    Local,
    /// Once synchronous replicas have it in their memory.
    RemoteWrite,
    /// Once synchronous replicas show it.
    RemoteApply,
}

impl SynchronousCommit {
    pub(crate) const fn sql(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Local => "local",
            Self::RemoteWrite => "remote_write",
            Self::RemoteApply => "remote_apply",
        }
    }
}

/// How long the server lets things last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeOuts {
    pub(crate) statement: Duration,
    /// Zero: as long as the statement itself.
    pub(crate) lock: Duration,
    pub(crate) idle_in_transaction: Duration,
}

/// As the server takes it: it keeps the number in 32 bits, and zero means no limit.
pub(crate) fn millis(time_out: Duration) -> u128 {
    let least = u128::from(!time_out.is_zero());
    time_out.as_millis().clamp(least, i32::MAX as u128)
}
