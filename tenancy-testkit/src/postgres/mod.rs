//! Postgres for a test: a server, a pooler in front of it, a standby behind it.
//!
//! | type | what it is |
//! |---|---|
//! | [`ThrowawayPostgres`] | a server of its own |
//! | [`TestDatabase`] | one database, seen by any role, straight or through something |
//! | [`ThrowawayReplica`] | a standby that follows a server |
//! | [`ThrowawayPgBouncer`] | a real pooler in front of a server |

mod bouncer;
mod database;
mod programs;
mod replica;
mod server;

// The public interface is:
pub use bouncer::{PgBouncerOptions, PgBouncerUnavailable, PoolMode, ThrowawayPgBouncer};
pub use database::TestDatabase;
pub use replica::ThrowawayReplica;
pub use server::{PostgresUnavailable, ServerOptions, ThrowawayPostgres};

/// The owner of the schema.
pub const OWNER: &str = "own";
/// The service.
pub const APP: &str = "app";
/// The control store.
pub const CONTROL: &str = "control";

const SUPERUSER: &str = "postgres";
