//! Tenants with real keys, and throwaway servers, for tests.
//!
//! There is no back door: [`TestTenants`] owns a real [`Realm`] with a real issuer, whose tokens are signed with keys
//! made for the test and verified like any other.
//!
//! # How do I obtain a `TenantContext`?
//!
//! ```
//! # async fn run() {
//! let tenants = tenancy_testkit::TestTenants::new().await;
//! let acme = tenants.context("acme").await;
//! let globex = tenants.context("globex").await;
//! assert_ne!(acme.life(), globex.life());
//! assert!(acme.scope("a secret").open(&globex).is_err());
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(run());
//! ```
//!
//! # What it guarantees
//!
//! Everything that a production realm does, with short queues and a log in memory. [`FaultProxy`] puts a network that fails
//! on demand, and counts, in front of any server; [`LyingProxy`] puts one that mixes replies up in front of a Redis.
//!
//! # What it does not
//!
//! It panics where a test can't go on: use it as a dev-dependency only.
//!
//! # Features
//!
//! `engine`: an inference engine on the loopback that keeps prefixes of prompts. `pg`: a throwaway Postgres, with a
//! PgBouncer in front of it and a standby behind. `qdrant`: a Qdrant server on the loopback, over the embedded engine.
//! `redis`: a throwaway Redis, and a cluster of six. `vectors`: random questions to a back end of vectors. `stack`: every
//! store of a [`TestTenants`].
//!
//! # MSRV
//!
//! Rust 1.95.
#![expect(clippy::expect_used, reason = "a test that can't be set up must stop")]

mod cancel;
mod clock;
#[cfg(feature = "engine")]
pub mod engine;
mod faulty;
mod issuer;
#[cfg(any(feature = "pg", feature = "redis"))]
mod keeper;
#[cfg(feature = "pg")]
mod postgres;
pub mod proxy;
#[cfg(feature = "qdrant")]
pub mod qdrant;
#[cfg(feature = "redis")]
mod redis;
mod scratch;
#[cfg(feature = "stack")]
mod stores;
mod tenants;
#[cfg(feature = "vectors")]
pub mod vectors;

// The public interface is:
pub use cancel::{drop_at_every_poll, poll_times};
pub use clock::ManualClock;
#[cfg(feature = "engine")]
pub use engine::{StubEngine, StubEngineBuilder};
pub use faulty::{Fault, FaultyDirectory};
pub use issuer::TestIssuer;
#[cfg(feature = "pg")]
pub use postgres::{
    APP, CONTROL, OWNER, PgBouncerOptions, PgBouncerUnavailable, PoolMode, PostgresUnavailable, ServerOptions,
    TestDatabase, ThrowawayPgBouncer, ThrowawayPostgres, ThrowawayReplica,
};
pub use proxy::{FaultProxy, LyingProxy};
#[cfg(feature = "qdrant")]
pub use qdrant::QdrantServer;
#[cfg(feature = "redis")]
pub use redis::{RedisUnavailable, ThrowawayRedis, ThrowawayRedisCluster};
pub use scratch::scratch_directory;
#[cfg(feature = "stack")]
pub use stores::{TestStores, TestStoresBuilder};
#[doc(no_inline)]
pub use tenancy_core::Realm;
pub use tenants::{TestTenants, TestTenantsBuilder};
