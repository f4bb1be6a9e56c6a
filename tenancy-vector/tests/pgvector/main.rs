//! The cases, the conformance suite and what is Postgres's own, on a real server with pgvector.
//!
//! The server is that of the folder which `TENANCY_PGVECTOR_BIN` names; `cargo xtask test` fetches one.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

#[path = "../cases/mod.rs"]
mod cases;
mod conform;
mod dropping;
#[path = "../cases/handle.rs"]
mod handle;
mod isolation;
mod large;
mod property;
mod shared;
mod signed;
mod stores;
#[path = "../cases/cancel.rs"]
mod sweep;
mod tables;
mod world;

// The random questions of the embedded engine's tests.
#[path = "../../../tenancy-vector-edge/tests/property/compare.rs"]
mod compare;
#[path = "../../../tenancy-vector-edge/tests/property/data.rs"]
mod data;
#[path = "../../../tenancy-vector-edge/tests/property/filters.rs"]
mod filters;
#[path = "../../../tenancy-vector-edge/tests/property/queries.rs"]
mod queries;
#[path = "../../../tenancy-vector-edge/tests/property/random.rs"]
mod random;
