//! Tenant-bound cache keys and sealed cache values.
//!
//! A cache that finds an answer by the question alone gives one customer's answer to another. Here a key is derived by
//! one function from who asks, when, and everything that shapes the answer; what is kept is sealed to that key, so a
//! back end that mixes entries up yields a miss; and there is no way to look, keep or remove before a
//! [`TenantContext`](tenancy_core::TenantContext) is given.
//!
//! # How do I obtain a `TenantContext`?
//!
//! From a verified credential, through the realm: see [`tenancy_core`]. Then [`Caches::scoped`].
//!
//! # Smallest example
//!
//! ```
//! use tenancy_cache::{Caches, EmbeddingParts, Lookup, MemoryBackend};
//! use tenancy_core::{Visibility, chat::ModelIdentity};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! # let tenants = tenancy_testkit::TestTenants::new().await;
//! # let (realm, ctx) = (tenants.realm(), tenants.context("acme").await);
//! let caches = Caches::new(realm, MemoryBackend::new()); // once, at start-up
//! let mine = caches.scoped(&ctx)?; // once a request
//!
//! let parts = EmbeddingParts {
//!     text: "When is the office open?".to_owned(),
//!     model: ModelIdentity { id: "minilm".to_owned(), version: "2".to_owned(), adapter: None },
//!     dimensions: 3,
//!     instruction: None,
//!     visibility: Visibility::Tenant,
//! };
//! let embed = || async { Ok::<_, tenancy_cache::CacheError>(vec![0.1f32, 0.2, 0.3]) };
//! let vector = mine.embedding().get_or_try_compute(&parts, embed).await?;
//!
//! // The same in two steps:
//! match mine.embedding::<Vec<f32>>().lookup(&parts).await? {
//!     Lookup::Hit(kept) => assert_eq!(kept, vector),
//!     Lookup::Miss(slot) => drop(slot.put(&vector).await?),
//!     Lookup::Bypass(_) => {}
//! }
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(run()).unwrap();
//! ```
//!
//! # What it guarantees
//!
//! - Two tenants, two lives of a tenant, two realms, two visibilities and two layers never have one key; nor have two
//!   questions that differ in any field of their parts. The parts are structs whose new fields don't compile until they
//!   are in the key.
//! - What comes back opened under the very key that was asked, in the tenant's own key, or it is a miss that is counted
//!   and on record. A back end, and who reads it, sees no plaintext and no key it could guess.
//! - A value is kept under the key derived when the question was asked. What was computed from older documents is not
//!   found after they changed, and while they are being written the layers that follow them stand aside.
//! - Reading never fails because of the back end. An invalidation that is not known to have happened is an error, and
//!   its layer stands aside for the tenant, in this process, until it has.
//! - With [`MemoryBackend`], a tenant drives out only its own entries, and is forgotten in one step.
//!
//! # What it does not
//!
//! - It can't know what shaped an answer beside the parts. Whatever did belongs into `inputs`.
//! - [`Visibility::Tenant`](tenancy_core::Visibility::Tenant) is a promise of the caller that everybody in the tenant
//!   may see the answer.
//! - How long a look takes tells hit from miss, within a tenant.
//! - Whether an inference engine heeds its salt is the engine's. A [`probe`] finds out.
//! - A back end can hand out an older value of the same key. It can keep what it should have removed, too, until the
//!   value's expiry.
//! - Values go through JSON: a type that does not survive that is not for a cache.
//!
//! # Features
//!
//! `redis`: [`RedisBackend`](redis::RedisBackend), on one server or a cluster. `semantic`:
//! [`SemanticCache`](semantic::SemanticCache), which finds answers by the meaning of the question. `openai`:
//! [`OpenAiEngine`](engine::OpenAiEngine), an engine over HTTP, to be asked and probed.
//!
//! # MSRV
//!
//! Rust 1.95.

mod backend;
mod caches;
mod canonical;
pub mod conformance;
pub mod engine;
mod envelope;
mod epoch;
mod error;
mod flight;
mod graveyard;
mod key;
mod layer;
mod life;
mod memory;
mod parts;
pub mod probe;
mod recording;
#[cfg(feature = "redis")]
pub mod redis;
mod removal;
#[cfg(feature = "semantic")]
pub mod semantic;
mod settings;
mod slot;
mod stale;
mod stats;
mod tenant_layer;
mod two_level;

// The public interface is:
pub use backend::{CacheBackend, CacheScope, Found, StoreKey};
pub use caches::{Caches, STORE, TenantCaches};
pub use canonical::{CanonicalJson, JsonError, canonical_json};
pub use epoch::Epoch;
pub use error::{BackendError, Bypass, CacheError};
pub use key::{CacheKey, EngineSalt, Moment, derive};
pub use layer::Layer;
pub use memory::MemoryBackend;
pub use parts::{
    EmbeddingParts, EngineParts, EntryParts, KeyParts, ResponseParts, RetrievalParts, SemanticParts, ToolParts,
};
pub use settings::CacheSettings;
pub use slot::{Put, Slot};
pub use stats::{CacheStats, LayerStats};
pub use tenant_layer::{Lookup, TenantLayer};
pub use two_level::TwoLevel;
