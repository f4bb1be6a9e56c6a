//! Small lives in one back end, large ones in another, and the way from the one to the other while they are in use.
//!
//! A [`TieredBackend`] is a back end like any other. A [`Mover`] takes a life from the one side to the other and back; where
//! each life is stands in a [`Tiers`]: [`MemoryTiers`] in one process, `pgvector::PgTiers` in several.
//!
//! ```
//! use std::time::Duration;
//!
//! use tenancy_vector::tiers::{MemoryTiers, Mover, Tier, TieredBackend};
//! use tenancy_vector::*;
//! # use tenancy_vector::conformance::ReferenceBackend as Shared;
//! # use tenancy_vector::conformance::ReferenceBackend as Dedicated;
//!
//! # async fn run(realm: &tenancy_core::Realm, ctx: &tenancy_core::TenantContext) -> Result<(), Box<dyn std::error::Error>> {
//! let schema = Schema::hybrid(3)?;
//! // In several processes: `PgTiers`.
//! let tiered = TieredBackend::new(Shared::new(), Dedicated::new(), MemoryTiers::new());
//! # let tiered = tiered.patience(Duration::from_millis(50));
//! let store = VectorStore::new(realm, tiered.clone(), schema.clone());
//! let mine = store.scoped(ctx)?; // serves all the while
//! # let id = ExternalId::parse("handbook#1")?;
//! # mine.upsert(vec![Point::hybrid(id, vec![0.1, 0.2, 0.3], SparseVector::new(vec![7], vec![1.0])?, Default::default())?]).await?;
//!
//! // In a job, with a context from its ticket. Failed or dropped: call it again, it goes on where it was.
//! let mover = Mover::new(realm, tiered, schema).scoped(ctx)?;
//! mover.move_to(Tier::Dedicated, |points| println!("{points} points copied")).await?;
//! assert_eq!(mover.placement().await?.tier(), Tier::Dedicated);
//! assert_eq!(mine.count(None).await?, 1);
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! #     let tenants = tenancy_testkit::TestTenants::new().await;
//! #     run(tenants.realm(), &tenants.context("acme").await).await.unwrap();
//! # });
//! ```
//!
//! # How a life moves
//!
//! Which back end is asked is looked up before each call. A life is moved by copying it while it is written: writes note
//! which points they change, and those are copied again. At the end writes wait for a moment, the last of these points are
//! copied, and reads turn:
//!
//! ```text
//! reads   writes         what the mover does
//! here    here           begins, and waits for writes that don't know of it
//! here    here, noted    copies page by page, then what was noted, until little is left
//! here    wait           copies the rest, and turns the reads
//! there   there          removes what is left here
//! there   there
//! ```
//!
//! A write looks again once its note is kept, and a mover that lets writes wait looks for notes after that: one of the two
//! sees the other. No clock is asked but each process's own, for how long something takes.
//!
//! The mover alone writes to the other back end, so that one can't fail a write, and no two writers have to agree on an
//! order. Each step is safe to stop at: what was placed says where to go on.

mod backend;
mod copy;
mod lease;
mod memory;
mod mover;
mod placement;
mod write;

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

pub use backend::TieredBackend;
pub use memory::MemoryTiers;
pub use mover::{Mover, TenantMover};
pub use placement::{Placement, Tier};

use crate::error::BackendError;
use crate::id::PointKey;
use crate::scope::VectorScope;

/// Which points a write is about to change: the mover copies them again. Opaque to whoever keeps it.
#[derive(Clone, Debug)]
pub struct Note {
    id: Uuid,
    keys: Vec<PointKey>,
}

impl Note {
    /// One that was kept, from its id and its bytes. `None` for bytes of no note.
    #[must_use]
    pub fn kept(id: Uuid, bytes: &[u8]) -> Option<Self> {
        let (keys, rest) = bytes.as_chunks();
        rest.is_empty().then(|| Self { id, keys: keys.iter().map(|key| PointKey::of_bytes(*key)).collect() })
    }

    /// Its id: random.
    #[must_use]
    pub const fn id(&self) -> Uuid {
        self.id
    }

    /// What to keep: 32 bytes a point, keyed hashes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.keys.iter().flat_map(|key| key.to_bytes()).collect()
    }
}

/// What is noted of a life.
#[derive(Clone, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "made by whoever keeps them")]
pub struct Notes {
    /// Notes whose write is over: all, or as many as go into memory.
    pub closed: Vec<Note>,
    /// How many there are whose write is under way.
    pub open: usize,
}

/// Keeps where each life is, and what is written while it moves: durable, and shared by all processes that use the back
/// ends. What one process has set is what every other sees from then on; an answer that is kept for a while would be a
/// point written to a place that nobody reads any more.
///
/// Called by this crate only. All of it may be dropped at any await.
#[async_trait]
pub trait Tiers: Send + Sync + 'static {
    /// Where a life is; [`Placement::FIRST`] for one that nobody moved. Asked before every call, and after every read.
    ///
    /// # Errors
    /// [`BackendError::Dropped`] after [`drop_life`](Self::drop_life); [`BackendError`]: the call fails.
    async fn placement(&self, scope: &VectorScope<'_>) -> Result<Placement, BackendError>;

    /// Sets where a life is, if it is still where it was. Durable when it says true. When the new placement
    /// [is not moving](Placement::is_moving), all notes of the life are forgotten with it.
    ///
    /// # Errors
    /// As [`placement`](Self::placement); it may have been set.
    async fn replace(&self, scope: &VectorScope<'_>, from: Placement, to: Placement) -> Result<bool, BackendError>;

    /// Keeps a note, open. Durable when it returns.
    ///
    /// # Errors
    /// As [`placement`](Self::placement): nothing is written.
    async fn note(&self, scope: &VectorScope<'_>, note: Note) -> Result<(), BackendError>;

    /// Closes a note: its write is over, well or not.
    ///
    /// # Errors
    /// [`BackendError`]: it counts as closed once it is old enough.
    async fn close(&self, scope: &VectorScope<'_>, note: Uuid) -> Result<(), BackendError>;

    /// The notes of a life. One that was kept longer ago than `age` counts as closed: whoever made it was given no longer.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn notes(&self, scope: &VectorScope<'_>, age: Duration) -> Result<Notes, BackendError>;

    /// Forgets notes: their points were copied.
    ///
    /// # Errors
    /// [`BackendError`]: they are copied again.
    async fn forget(&self, scope: &VectorScope<'_>, notes: &[Uuid]) -> Result<(), BackendError>;

    /// Forgets the notes of an erased life, and that it had a place: from now on it has none, for good. Idempotent.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn drop_life(&self, scope: &VectorScope<'_>) -> Result<(), BackendError>;
}
