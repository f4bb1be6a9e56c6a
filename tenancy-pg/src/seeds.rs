//! The settings that every session starts with and goes back to.

use std::time::Duration;

use crate::ident::{quote_ident, quote_text};
use crate::pooler::Pooler;

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
    /// - a transaction may write and sees what was committed before each statement, and policies are not switched off
    ///   for errors.
    pub(crate) fn new(row_key: &str, search_path: &str, time_outs: &TimeOuts, pooler: Pooler) -> Self {
        let seed = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut pairs = vec![
            seed(row_key, ""),
            seed("client_min_messages", "error"),
            seed("standard_conforming_strings", "on"),
            seed("search_path", search_path),
            seed("default_transaction_isolation", "read committed"),
            seed("default_transaction_read_only", "off"),
            seed("row_security", "on"),
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

    /// For the startup message, which makes them what `reset all` brings back. Poolers refuse them there.
    pub(crate) fn at_startup(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = if self.pooler == Pooler::None { self.pairs.as_slice() } else { &[] };
        pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Statements for a session that could not be told at its start; empty or with a semicolon at the end.
    pub(crate) fn after_connecting(&self) -> String {
        if self.pooler == Pooler::Session { self.statements("set") } else { String::new() }
    }

    /// Statements for a transaction on a session that nobody has prepared; as [`after_connecting`](Self::after_connecting).
    pub(crate) fn in_transaction(&self) -> String {
        if self.pooler == Pooler::Transaction { self.statements("set local") } else { String::new() }
    }

    /// Puts every setting of a session back to where it started; with a semicolon at the end.
    ///
    /// Behind a pooler the settings that the driver counts on are the session's of another client, or were set by the
    /// pooler, and `reset all` takes them away too. A transaction pooler's session is cleaned of what would otherwise be
    /// found by the proof and cost the session.
    pub(crate) fn reset(&self) -> String {
        match self.pooler {
            Pooler::None => "reset all; ".to_owned(),
            Pooler::Session => format!("reset all; {DRIVER}{}", self.after_connecting()),
            Pooler::Transaction => format!("reset all; set session authorization default; discard temp; {DRIVER}"),
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
