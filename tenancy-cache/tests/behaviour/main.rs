//! Behaviour of the caches through their public interface.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that can't go on must stop")]

mod cancel;
#[path = "../cases/mod.rs"]
mod cases;
mod corpus;
mod erase;
mod flight;
mod invalidate;
mod isolation;
mod keys;
mod keys_property;
mod lies;
mod look;
mod memory;
mod metrics;
mod rig;
mod salts;
mod samples;
mod stale;
mod streams;
mod two_level;
