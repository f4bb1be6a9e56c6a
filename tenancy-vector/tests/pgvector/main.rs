//! The cases, the conformance suite and what is Postgres's own, on a real server with pgvector.
//!
//! The server is that of the folder which `TENANCY_PGVECTOR_BIN` names; `cargo xtask test` fetches one.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

mod alone;
#[path = "../cases/mod.rs"]
mod cases;
mod conform;
mod corpora;
mod corpora_attacked;
#[path = "../cases/shared.rs"]
mod corpora_cases;
mod corpora_drift;
mod corpora_ended;
mod dropping;
mod eraser;
#[path = "../cases/handle.rs"]
mod handle;
mod isolation;
mod keys;
mod large;
mod library;
mod offboarding;
mod shared;
mod signed;
#[path = "../cases/cancel.rs"]
mod sweep;
mod tables;
mod tiers;
mod world;
