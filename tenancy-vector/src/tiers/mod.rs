//! Small lives in one back end, large ones in another, and the way from the one to the other while they are in use.
//!
//! A [`TieredBackend`] is a back end like any other. A [`Mover`] takes a life from the one side to the other and back; where
//! each life is stands in a [`Tiers`]: [`MemoryTiers`] in one process, `pgvector::PgTiers` in several.
//!
//! ```
//! use std::time::Duration;
//!
//! use tenancy_core::{JobKind, JobTicket, Realm, TenantContext, TicketUse};
//! use tenancy_vector::tiers::{MemoryTiers, Mover, Tier, TieredBackend};
//! use tenancy_vector::*;
//! # use tenancy_vector::conformance::ReferenceBackend as Shared;
//! # use tenancy_vector::conformance::ReferenceBackend as Dedicated;
//! # type Anything = Result<(), Box<dyn std::error::Error>>;
//!
//! /// A tenant gets a place of its own. A move is a job: nobody waits for it, and a worker that dies is followed by another.
//! struct Promote;
//!
//! impl JobKind for Promote {
//!     const NAME: &'static str = "promote";
//!     const QUEUE: &'static str = "vectors";
//!     const MAX_TTL: Duration = Duration::from_secs(3600);
//!     const USE: TicketUse = TicketUse::Repeatable; // opened again, it goes on where it was
//! }
//!
//! /// In a request: the tenant itself is large now, and its context makes the ticket.
//! async fn store(mine: &TenantVectors, ctx: &TenantContext, points: Vec<Point>)
//! -> Result<Option<JobTicket<Promote>>, VectorError> {
//!     mine.upsert(points).await?;
//!     let is_large = mine.count(None).await? > LARGE;
//!     Ok(if is_large { Some(ctx.ticket(b"", Promote::MAX_TTL)?) } else { None }) // into your queue
//! }
//! # const LARGE: u64 = 1;
//!
//! /// In a worker, from your queue. The tenant is served all the while. Failed or dropped: call it again.
//! async fn work(realm: &Realm, mover: &Mover, ticket: JobTicket<Promote>) -> Anything {
//!     let job = realm.worker().open(&ticket, Vec::new()).await?;
//!     let copied = |points| println!("{points} points copied");
//!     Ok(mover.scoped(job.context())?.move_to(Tier::Dedicated, copied).await?)
//! }
//!
//! # async fn run(realm: &Realm, ctx: &TenantContext, points: Vec<Point>) -> Anything {
//! // At start-up, in each process. With several of them: `PgTiers`.
//! let schema = Schema::hybrid(3)?;
//! let tiered = TieredBackend::new(Shared::new(), Dedicated::new(), MemoryTiers::new());
//! # let tiered = tiered.patience(Duration::from_millis(50));
//! let vectors = VectorStore::new(realm, tiered.clone(), schema.clone());
//! let mover = Mover::new(realm, tiered, schema);
//! # let mine = vectors.scoped(ctx)?;
//! # let ticket = store(&mine, ctx, points).await?.ok_or("not large")?;
//! # work(realm, &mover, ticket).await?;
//! # assert_eq!(mover.scoped(ctx)?.placement().await?.tier(), Tier::Dedicated);
//! # assert_eq!(mine.count(None).await?, 2);
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! #     let tenants = tenancy_testkit::TestTenants::new().await;
//! #     let point = |id| Point::hybrid(ExternalId::parse(id).unwrap(), vec![0.1; 3], SparseVector::empty(), Default::default());
//! #     let points = vec![point("1").unwrap(), point("2").unwrap()];
//! #     run(tenants.realm(), &tenants.context("acme").await, points).await.unwrap();
//! # });
//! ```
//!
//! Nobody moves a tenant without a context of that tenant: an operator's grant does not open one. Where people decide it, a
//! service account of the tenant asks for the ticket.
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
//! there   there          removes what is left here; of writes those that take points out are noted
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
mod placed;
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
use crate::scope::{DropScope, VectorScope, WriteScope};

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
    async fn replace(&self, scope: &WriteScope<'_>, from: Placement, to: Placement) -> Result<bool, BackendError>;

    /// Keeps a note, open. Durable when it returns.
    ///
    /// # Errors
    /// As [`placement`](Self::placement): nothing is written.
    async fn note(&self, scope: &WriteScope<'_>, note: Note) -> Result<(), BackendError>;

    /// Closes a note: its write is over, well or not.
    ///
    /// # Errors
    /// [`BackendError`]: it counts as closed once it is old enough.
    async fn close(&self, scope: &WriteScope<'_>, note: Uuid) -> Result<(), BackendError>;

    /// The notes of a life. One that was kept longer ago than `age` counts as closed: whoever made it was given no longer.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn notes(&self, scope: &VectorScope<'_>, age: Duration) -> Result<Notes, BackendError>;

    /// Which of these points are noted, by open notes too: all that were kept and not forgotten.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn noted(&self, scope: &VectorScope<'_>, keys: &[PointKey]) -> Result<Vec<PointKey>, BackendError>;

    /// Forgets notes: their points were copied.
    ///
    /// # Errors
    /// [`BackendError`]: they are copied again.
    async fn forget(&self, scope: &WriteScope<'_>, notes: &[Uuid]) -> Result<(), BackendError>;

    /// Forgets the notes of an erased life, and that it had a place: from now on it has none, for good. Idempotent.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn drop_life(&self, scope: &DropScope<'_>) -> Result<(), BackendError>;
}
