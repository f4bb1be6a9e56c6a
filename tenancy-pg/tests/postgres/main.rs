//! Against a real server: see each module. One binary, so that one server serves all of them.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod adoption;
mod attacks;
mod audit;
mod cancel;
mod catalog;
mod channel;
mod common;
mod control;
mod erase;
mod data_migrations;
mod executor;
mod guard;
mod injection;
mod inspection;
mod inspection_of_helpers;
mod inspection_of_keys;
mod inspection_of_leftovers;
mod inspection_of_objects;
mod inspection_of_probes;
mod inspection_of_signed;
mod migration_diff;
mod migrations;
mod policies;
mod poolers;
mod queue;
mod savepoints;
mod sealed;
mod sessions;
mod signed;
mod signed_scope;
mod signing_keys;
mod standing;
mod tx_options;
mod unproven;
mod wire;
