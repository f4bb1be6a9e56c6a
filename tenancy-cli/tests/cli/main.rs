//! The command as it is typed, against a real server.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod adopt;
mod common;
mod config;
mod init;
mod inspect;
mod policy;
mod probe;
mod probe_salt;
mod signing_key;
mod unread;
mod vectors;
