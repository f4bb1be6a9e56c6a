//! The settings that every session starts with and goes back to.

use std::time::Duration;

use crate::ident::quote_ident;

/// Names and values, in the order in which they are set. Nothing of a tenant's is among them.
#[derive(Clone)]
pub(crate) struct Seeds(Vec<(String, String)>);

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
    pub(crate) fn new(row_key: &str, search_path: &[String], time_outs: &TimeOuts) -> Self {
        let schemas = search_path.iter().map(|schema| quote_ident(schema) + ", ").collect::<String>();
        let seed = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut seeds = vec![
            seed(row_key, ""),
            seed("client_min_messages", "error"),
            seed("standard_conforming_strings", "on"),
            seed("search_path", &format!("{schemas}pg_temp")),
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
            seeds.push(seed(name, &millis(*time_out).to_string()));
        }
        Self(seeds)
    }

    /// For the startup message, which makes them what `reset all` brings back.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
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
