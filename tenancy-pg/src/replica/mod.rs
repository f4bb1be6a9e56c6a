//! A replica to read from, which is believed as far as it proves itself.
//!
//! Each read asks the session that it is about to use, in the batch that opens it: is this still a standby of the
//! primary, the same database as the same login, and has it replayed what the tenant must see? Nothing is remembered of
//! a server, because a name, a pooler or a failover may lead to another one each time. Whatever is not shown sends the
//! read to the primary, so a replica can't fail a read; that it can't show foreign rows is the work of the same policies,
//! seals and proofs as on the primary, whose copies it has.

mod known;
mod point;
mod read_point;
mod standby;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::Row;
use tenancy_core::{Denial, Gate, Pass};
use tokio::time::{sleep, timeout};

use self::known::Known;
pub(crate) use self::point::{POINT, Point};
pub use self::read_point::ReadPoint;
pub use self::standby::ReplicaFault;
use self::standby::{Fitness, Primary, ask, fitness};
use crate::error::PgError;
use crate::lease::Lease;
use crate::options::PgOptions;
use crate::pool::Pool;
use crate::pooler;
use crate::scope::{Opening, Scope};
use crate::witness::Witness;

/// The replica of a database, with what its reads must see.
pub(crate) struct Replica {
    gate: Gate,
    pool: Arc<Pool>,
    /// How long a read waits for the replay of what it must see.
    wait: Duration,
    known: Known,
    /// How the primary showed itself.
    who: Mutex<Arc<str>>,
    /// It is not asked before then.
    rests_until: Mutex<Option<Instant>>,
}

impl Replica {
    /// A replica that was looked at, or could not be reached just now.
    ///
    /// # Errors
    /// [`PgError::Replica`], [`PgError::PoolerMismatch`], or what it says to its login.
    pub(crate) async fn open(
        gate: Gate,
        primary: &PgOptions,
        replica: &PgOptions,
        setting: &str,
    ) -> Result<Self, PgError> {
        let Primary { who, point } = Primary::ask(primary, setting).await?;
        let limits = replica.limits_of_a_replica(PATIENCE);
        let pool = Pool::new(gate.clone(), replica.connect_options(), replica.seeds(setting), limits);
        let (known, who) = (Known::new(point), Mutex::new(who.into()));
        let opened = Self { gate, pool, wait: replica.replay_wait(), known, who, rests_until: Mutex::default() };
        match opened.show_itself(replica, setting).await {
            Err(error) if !may_come_back(&error) => Err(error),
            Ok(()) | Err(_) => Ok(opened),
        }
    }

    /// Looks again at both servers. From now on reads see what the primary had when it was asked, the schema included.
    ///
    /// # Errors
    /// As [`open`](Self::open), and when it can't be reached. Reads go by what they find themselves.
    pub(crate) async fn look(&self, primary: &PgOptions, replica: &PgOptions, setting: &str) -> Result<(), PgError> {
        let since = self.known.moment();
        let Primary { who, point } = Primary::ask(primary, setting).await?;
        self.known.looked(since, point);
        *self.who.lock().unwrap_or_else(PoisonError::into_inner) = who.into();
        self.show_itself(replica, setting).await
    }

    async fn show_itself(&self, replica: &PgOptions, setting: &str) -> Result<(), PgError> {
        let shown = timeout(LOOK_PATIENCE, async {
            pooler::verify(replica, setting).await?;
            ask(replica, setting, &fitness(&self.who(), self.known.floor())).await
        });
        let shown = shown.await.unwrap_or(Err(PgError::Busy));
        match shown {
            Ok(Fitness::Fault(fault)) => Err(PgError::Replica(fault)),
            Ok(Fitness::Fit | Fitness::Behind | Fitness::Diverged) => Ok(()),
            Err(error) => {
                self.rest();
                Err(error)
            }
        }
    }

    pub(crate) const fn known(&self) -> &Known {
        &self.known
    }

    /// Opens a transaction that reads; `None` where it is the primary's turn.
    ///
    /// Dropped at any await: the connection is closed.
    ///
    /// # Errors
    /// [`Denial::StoreBreach`], not recorded yet, as [`Lease::open`]. Nothing else is an error here.
    pub(crate) async fn read(&self, pass: &Pass, scope: &Scope, opening: Opening) -> Result<Option<Lease>, Denial> {
        let Some(needed) = self.known.needed(pass.context().life()) else {
            return Ok(self.not_here("replica.in_doubt"));
        };
        if !self.is_awake() {
            return Ok(self.not_here("replica.resting"));
        }
        let fitness = fitness(&self.who(), needed);
        let (opening, witness) = (opening.asking(&fitness), Witness::Tenant(pass.clone()));
        match timeout(2 * PATIENCE + self.wait, self.attempt(scope, &opening, &fitness, witness)).await {
            Ok(Ok(Ok(lease))) => {
                self.wake();
                self.gate.count("replica.served");
                Ok(Some(lease))
            }
            Ok(Ok(Err(unfit))) => Ok(self.not_fit(unfit)),
            Ok(Err(PgError::Denied(denial))) => Err(denial),
            // All its connections are in use, which is no fault of the server's.
            Ok(Err(PgError::Busy)) => Ok(self.not_here("replica.busy")),
            Ok(Err(_)) | Err(_) => {
                self.rest();
                Ok(self.not_here("replica.unreachable"))
            }
        }
    }

    async fn attempt(
        &self,
        scope: &Scope,
        opening: &Opening,
        fitness: &str,
        witness: Witness,
    ) -> Result<Result<Lease, Fitness>, PgError> {
        let (mut lease, opened) = Lease::opened(&self.pool, scope, opening).await?;
        lease.recognize(&opened)?;
        let mut found = Fitness::of(opened.last().ok_or(PgError::RowNotFound)?.try_get(0)?);
        let (until, mut pause) = (Instant::now() + self.wait, FIRST_PAUSE);
        while found == Fitness::Behind {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            sleep(pause.min(left)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            found = Fitness::of(lease.ask(fitness).await?.try_get(0)?);
        }
        match found {
            Fitness::Fit => {
                lease.seal(scope, &opened, witness).await?;
                return Ok(Ok(lease));
            }
            Fitness::Behind => lease.leave_unused(scope),
            // Closed: a new connection may lead to another server.
            Fitness::Diverged | Fitness::Fault(_) => drop(lease),
        }
        Ok(Err(found))
    }

    /// One that is behind has answered, and is asked by the next reader again. The other things do not pass by in a moment.
    fn not_fit(&self, found: Fitness) -> Option<Lease> {
        match found {
            Fitness::Fit | Fitness::Behind => self.wake(),
            Fitness::Diverged | Fitness::Fault(_) => self.rest(),
        }
        self.not_here(match found {
            Fitness::Fit | Fitness::Behind => "replica.behind",
            Fitness::Diverged => "replica.diverged",
            Fitness::Fault(ReplicaFault::Foreign) => "replica.foreign",
            Fitness::Fault(ReplicaFault::NoStandby | ReplicaFault::NoPrimary) => "replica.no_standby",
        })
    }

    fn not_here(&self, why: &'static str) -> Option<Lease> {
        self.gate.count(why);
        None
    }

    fn who(&self) -> Arc<str> {
        Arc::clone(&self.who.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether to ask it. After a rest one caller is sent ahead, and the others wait for the outcome at the primary.
    fn is_awake(&self) -> bool {
        let mut until = self.rests_until.lock().unwrap_or_else(PoisonError::into_inner);
        match *until {
            None => true,
            Some(until) if Instant::now() < until => false,
            Some(_over) => {
                *until = Some(Instant::now() + REST);
                true
            }
        }
    }

    fn rest(&self) {
        *self.rests_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + REST);
    }

    fn wake(&self) {
        *self.rests_until.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// Whether an error says no more than that nobody can be reached just now.
fn may_come_back(error: &PgError) -> bool {
    match error {
        PgError::Driver(_) | PgError::Busy => true,
        PgError::Database(refused) => refused.sqlstate().is_some_and(|code| code.starts_with("57P") || code == "53300"),
        _other => false,
    }
}

/// How long a read waits for a connection to the replica, and for its answer.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK_PATIENCE: Duration = Duration::from_secs(10);
/// So long nobody but one caller asks a replica that did not answer, or is none.
const REST: Duration = Duration::from_secs(2);
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
