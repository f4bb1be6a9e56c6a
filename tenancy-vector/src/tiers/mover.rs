//! Moving a life from one back end to the other.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenancy_core::{Entered, Gate, Pass, Realm, Region, TenantContext};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::TieredBackend;
use super::copy::Copier;
use super::placement::{Moving, Placement, Stage, Tier};
use crate::error::VectorError;
use crate::points::{Owner, Points};
use crate::schema::Schema;
use crate::scope::WriteScope;
use crate::store::{Engine, STORE};
use crate::tenant::end;

/// Moves lives between the two back ends of a [`TieredBackend`]. For the operator's jobs: a service that answers tenants has
/// no use for it. See [the module](super) for an example.
#[derive(Clone)]
pub struct Mover {
    gate: Gate,
    tiered: TieredBackend,
    engine: Arc<Engine>,
}

/// Moves one life. Cheap to clone.
#[derive(Clone)]
pub struct TenantMover {
    pass: Pass,
    tiered: TieredBackend,
    points: Points,
}

impl Mover {
    /// Moves the lives of a store that is made on the same back end with the same schema.
    #[must_use]
    pub fn new(realm: &Realm, tiered: TieredBackend, schema: Schema) -> Self {
        let engine = Arc::new(Engine { backend: Box::new(tiered.clone()), schema, is_corpus: true });
        Self { gate: Gate::new(realm, STORE), tiered, engine }
    }

    /// Says that both back ends stand in another region than the realm's own, as for the store.
    #[must_use]
    pub fn in_region(mut self, region: Region) -> Self {
        self.gate = self.gate.in_region(region);
        self
    }

    /// The mover of one tenant's life, for a job that acts for the tenant.
    ///
    /// # Errors
    /// [`VectorError::Denied`]: as [`Gate::scoped`], recorded.
    pub fn scoped(&self, context: &TenantContext) -> Result<TenantMover, VectorError> {
        let pass = self.gate.scoped(context)?;
        let points = Points::new(&self.engine, Owner::Tenant(context.clone()));
        Ok(TenantMover { pass, tiered: self.tiered.clone(), points })
    }
}

/// What a call moves, and what it has tried.
struct Run {
    mover: Uuid,
    to: Tier,
    is_taken: bool,
    /// Whether the life was looked for since the move is its own: from then on it knows what is in the other back end.
    is_placed: bool,
    rounds: u32,
    pauses: u32,
}

/// What was done.
enum Step {
    /// So many points were copied.
    Copied(u64),
    /// The placement is another one.
    Turned,
    /// Nothing: it is there.
    Over,
}

impl TenantMover {
    /// Where the life is. Dropped before it answers, it leaves a record.
    ///
    /// # Errors
    /// [`VectorError::Denied`], [`VectorError::Backend`].
    pub async fn placement(&self) -> Result<Placement, VectorError> {
        let entered = self.pass.enter("vectors.placement").await?;
        let placement = self.where_it_is(&entered).await;
        end(entered, placement, Entered::done)
    }

    /// Moves the life while it is read and written: reads see every point that is there and none twice, and a write that
    /// went through is there after the move. Writes wait once, for some milliseconds as a rule and two seconds at most.
    /// Nothing to do where the life is there already. `copied` is told after each page how many points this call has
    /// copied. It takes twice the [`patience`](TieredBackend::patience), and then the time of the copy.
    ///
    /// Dropped, or failed at any point, the life is whole and goes on being served, and each of its writes is noted; called
    /// again, with a fresh context where the old one's time was over, it goes on where it stopped. Called with the tier
    /// where the life is, it gives the move up.
    ///
    /// # Errors
    /// [`VectorError::Busy`] where somebody else has taken the move over, a back end takes longer than the patience, or
    /// writes are so slow that they can't be waited for; [`VectorError::Misplaced`]; [`VectorError::Denied`]; [`VectorError::Backend`].
    pub async fn move_to(&self, tier: Tier, mut copied: impl FnMut(u64) + Send) -> Result<(), VectorError> {
        let mut run = Run { mover: Uuid::new_v4(), to: tier, is_taken: false, is_placed: false, rounds: 0, pauses: 0 };
        let mut count = 0;
        loop {
            let entered = self.pass.enter("vectors.move").await?;
            let step = self.step(&entered, &mut run).await;
            let well = if matches!(step, Ok(Step::Turned)) { Entered::changed } else { Entered::done };
            match end(entered, step, well)? {
                Step::Copied(points) => {
                    count += points;
                    copied(count);
                }
                Step::Turned => {}
                Step::Over => return Ok(()),
            }
        }
    }

    /// One step from wherever the life is. Where another has set something meanwhile, nothing is set: the next step sees.
    async fn step(&self, entered: &Entered<'_>, run: &mut Run) -> Result<Step, VectorError> {
        let at = self.where_it_is(entered).await?;
        let stage = match at.moving {
            None if at.reads == run.to => return Ok(Step::Over),
            None => return self.take(entered, at, Stage::Begun, run).await,
            Some(Moving { mover, stage, .. }) if mover == run.mover => stage,
            Some(_) if run.is_taken => return Err(VectorError::Busy),
            Some(Moving { stage: Stage::Paused, .. }) => return self.take(entered, at, Stage::CatchingUp, run).await,
            Some(Moving { stage, .. }) => return self.take(entered, at, stage, run).await,
        };
        let copier = self.copier(entered, at);
        // What another mover has left says where the life was then: it is believed no more than a placement without a move.
        if !run.is_placed {
            copier.ensure_placed().await?;
            run.is_placed = true;
        }
        let next = |stage| at.at(run.mover, stage);
        match stage {
            Stage::Begun | Stage::Copying(_) | Stage::CatchingUp | Stage::Paused if at.reads == run.to => {
                self.set(entered, at, next(Stage::Clearing)).await?;
            }
            Stage::Begun => {
                copier.clear().await?;
                self.set(entered, at, next(Stage::Copying(None))).await?;
            }
            Stage::Copying(after) => {
                let (last, points) = copier.page(after).await?;
                let reached = last.map_or(Stage::CatchingUp, |last| Stage::Copying(Some(last)));
                self.set(entered, at, next(reached)).await?;
                return Ok(Step::Copied(points));
            }
            Stage::CatchingUp => {
                let points = self.catch_up(&copier).await?.points;
                if points > FEW && run.rounds < ROUNDS {
                    run.rounds += 1;
                    self.set(entered, at, at.beaten()).await?;
                    return Ok(Step::Copied(points as u64));
                }
                self.pause_and_turn(entered, &copier, run).await?;
            }
            Stage::Paused => {
                self.set(entered, at, at.resumed()).await?;
            }
            Stage::Clearing => {
                copier.clear().await?;
                copier.vacate().await?;
                self.set(entered, at, at.still()).await?;
            }
        }
        Ok(Step::Turned)
    }

    /// Makes the move this call's own, and waits until nothing goes on that does not know of it: writes that are not noted
    /// when it has just begun, and what the mover that had it may still have sent.
    async fn take(
        &self,
        entered: &Entered<'_>,
        at: Placement,
        stage: Stage,
        run: &mut Run,
    ) -> Result<Step, VectorError> {
        if self.set(entered, at, at.at(run.mover, stage)).await? {
            (run.is_taken, run.is_placed) = (true, false);
            sleep(self.tiered.wait()).await;
        }
        Ok(Step::Turned)
    }

    /// Copies what was noted.
    async fn catch_up(&self, copier: &Copier<'_>) -> Result<CaughtUp, VectorError> {
        let notes = self.tiered.tiers.notes(&copier.scope, self.tiered.wait()).await?;
        // A point that was written often is copied once: keys of one upsert are distinct.
        let keys: BTreeSet<_> = notes.closed.iter().flat_map(|note| note.keys.iter().copied()).collect();
        let keys = Vec::from_iter(keys);
        copier.keys(&keys).await?;
        let ids: Vec<_> = notes.closed.iter().map(|note| note.id).collect();
        if !ids.is_empty() {
            self.tiered.tiers.forget(&copier.scope, &ids).await?;
        }
        Ok(CaughtUp { points: keys.len(), is_all: notes.open == 0 && ids.is_empty() })
    }

    /// Lets writes wait, copies the rest, and turns the reads; or lets writes go on where that takes too long.
    async fn pause_and_turn(
        &self,
        entered: &Entered<'_>,
        copier: &Copier<'_>,
        run: &mut Run,
    ) -> Result<(), VectorError> {
        let paused = copier.at.at(run.mover, Stage::Paused);
        if !self.set(entered, copier.at, paused).await? {
            return Ok(());
        }
        run.pauses += 1;
        let is_all = self.catch_up_with_all(copier).await;
        let next = if matches!(is_all, Ok(true)) { paused.turned(run.mover) } else { paused.resumed() };
        // A write that has waited for too long lifts the pause: then nothing turns.
        let set = self.set(entered, paused, next).await?;
        if (is_all? && set) || run.pauses < PAUSES { Ok(()) } else { Err(VectorError::Busy) }
    }

    /// Copies until nothing is noted any more, for as long as writes wait. Whether it came so far.
    async fn catch_up_with_all(&self, copier: &Copier<'_>) -> Result<bool, VectorError> {
        let until = Instant::now() + self.tiered.pause();
        while Instant::now() < until {
            if self.catch_up(copier).await?.is_all {
                return Ok(true);
            }
            sleep(SHORT).await;
        }
        Ok(false)
    }

    async fn set(&self, entered: &Entered<'_>, from: Placement, to: Placement) -> Result<bool, VectorError> {
        Ok(self.tiered.tiers.replace(&self.scope(entered), from, to).await?)
    }

    async fn where_it_is(&self, entered: &Entered<'_>) -> Result<Placement, VectorError> {
        Ok(self.tiered.tiers.placement(&self.scope(entered)).await?)
    }

    fn copier<'a>(&'a self, entered: &'a Entered<'_>, at: Placement) -> Copier<'a> {
        Copier { entered, scope: self.scope(entered), tiered: &self.tiered, points: &self.points, at }
    }

    fn scope<'a>(&'a self, entered: &'a Entered<'_>) -> WriteScope<'a> {
        WriteScope::of_call(entered, &self.points)
    }
}

struct CaughtUp {
    /// How many points were copied.
    points: usize,
    /// Whether there was nothing to copy, and no write under way.
    is_all: bool,
}

/// So many noted points are copied in a pause.
const FEW: usize = 64;
/// How often all that was noted is copied before writes are let wait, however much comes in.
const ROUNDS: u32 = 20;
/// How often a pause is tried.
const PAUSES: u32 = 5;
const SHORT: Duration = Duration::from_millis(2);

impl fmt::Debug for Mover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mover(..)")
    }
}

impl fmt::Debug for TenantMover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantMover({:?})", self.pass.context().life())
    }
}
