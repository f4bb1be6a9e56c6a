//! The connections of one database: how many there are, and which of them nobody uses.
//!
//! Not sqlx's pool, which pings every connection that comes back, takes back what its own count of transactions says is
//! clean, and can't tell one idle connection from another.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use sqlx::Connection;
use sqlx::postgres::PgConnectOptions;
use tenancy_core::{Gate, Life};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, RwLock, Semaphore, TryAcquireError};
use tokio::time::timeout;

use crate::event::{self, Cause};
use crate::redact::may_connect_later;
use crate::seeds::Seeds;
use crate::session::{Backends, Registered, Session};

/// Idle connections, all of them clean, and the right to open more.
pub(crate) struct Pool {
    gate: Gate,
    options: PgConnectOptions,
    seeds: Seeds,
    limits: Limits,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Idle>>,
    closed: AtomicBool,
    sweeps: Once,
    backends: Backends,
    /// Read by each work behind the scenes, until it is done.
    behind_the_scenes: Arc<RwLock<()>>,
}

/// How many connections, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) most: u32,
    pub(crate) acquire_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) max_lifetime: Duration,
    /// Idle connections that are kept for one tenant.
    pub(crate) kept_per_tenant: u32,
    /// Whether to go on trying while the server starts up or is full.
    pub(crate) waits_for_the_server: bool,
}

struct Idle {
    held: Held,
    since: Instant,
}

/// A session and its place among the backends of the pool.
struct Held {
    session: Session,
    /// Whose row key the session holds.
    home: Option<Life>,
    /// Behind a transaction pooler a session has no backend of its own.
    registered: Option<Registered>,
}

impl Pool {
    /// Connects when somebody asks.
    pub(crate) fn new(gate: Gate, options: PgConnectOptions, seeds: Seeds, limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            gate,
            options,
            seeds,
            limits,
            permits: Arc::new(Semaphore::new(limits.most as usize)),
            idle: Mutex::default(),
            closed: AtomicBool::new(false),
            sweeps: Once::new(),
            backends: Backends::default(),
            behind_the_scenes: Arc::default(),
        })
    }

    pub(crate) const fn most(&self) -> u32 {
        self.limits.most
    }

    /// An idle connection, which may have died meanwhile, or a new one. Dropped before it answers: nothing is taken.
    ///
    /// # Errors
    /// [`sqlx::Error::PoolTimedOut`], [`sqlx::Error::PoolClosed`], or why no connection could be made.
    pub(crate) async fn take(self: &Arc<Self>, whose: Option<Life>) -> Result<Taken, sqlx::Error> {
        let taken = timeout(self.limits.acquire_timeout, self.take_when_free(whose));
        taken.await.map_err(|_elapsed| {
            self.gate.count(event::TIMED_OUT);
            sqlx::Error::PoolTimedOut
        })?
    }

    async fn take_when_free(self: &Arc<Self>, whose: Option<Life>) -> Result<Taken, sqlx::Error> {
        self.ensure_open()?;
        self.sweep_from_now_on();
        let permit = self.permit().await?;
        self.ensure_open()?;
        let (held, warm) = match self.take_idle(whose) {
            Some(idle) => {
                let warm = idle.since.elapsed() < WARM;
                if idle.held.home.is_some() {
                    self.gate.count(if idle.held.home == whose { event::CAME_BACK } else { event::MOVED_OUT });
                }
                (idle.held, warm)
            }
            None => (self.connect().await?, true),
        };
        Ok(Taken { held, warm, permit, pool: Arc::clone(self) })
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, sqlx::Error> {
        match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => Ok(permit),
            Err(TryAcquireError::NoPermits) => {
                self.gate.count(event::WAITED);
                Arc::clone(&self.permits).acquire_owned().await.map_err(|_closed| sqlx::Error::PoolClosed)
            }
            Err(TryAcquireError::Closed) => Err(sqlx::Error::PoolClosed),
        }
    }

    /// One where this tenant is at home, else one that is nobody's, else, where there can be no more connections, the one
    /// of another tenant that was used least recently. Of several, the one that was used last: it is the warmest, and
    /// the others grow old enough to be closed.
    fn take_idle(&self, whose: Option<Life>) -> Option<Idle> {
        let mut idle = self.idle();
        self.close_expired(&mut idle);
        let of = |home: Option<Life>| idle.iter().rposition(|one| one.held.home == home);
        let in_use = self.limits.most as usize - self.permits.available_permits();
        let full = idle.len() + in_use > self.limits.most as usize;
        let place = of(whose).or_else(|| of(None)).or_else(|| (full && !idle.is_empty()).then_some(0))?;
        Some(idle.remove(place))
    }

    /// Whether one more idle connection may be kept for a tenant.
    fn may_keep(&self, whose: Life) -> bool {
        let kept = self.idle().iter().filter(|one| one.held.home == Some(whose)).count();
        kept < self.limits.kept_per_tenant as usize
    }

    /// Where it is worth it, goes on trying until whoever waits has no patience left.
    async fn connect(&self) -> Result<Held, sqlx::Error> {
        let mut pause = FIRST_PAUSE;
        let session = loop {
            match Session::connect(&self.options, &self.seeds).await {
                Err(error) if self.limits.waits_for_the_server && may_connect_later(&error) => {
                    tokio::time::sleep(pause).await
                }
                ended => break ended?,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        };
        self.gate.count(event::CONNECTED);
        let own = self.seeds.may_share_backends().then(|| self.backends.register(session.identity.backend));
        Ok(Held { session, home: None, registered: own.transpose()? })
    }

    /// Refuses from now on, waits for what is in use and for what goes on behind the scenes, and closes what is idle.
    pub(crate) async fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        let _all = self.permits.acquire_many(self.limits.most).await;
        self.permits.close();
        let idle = std::mem::take(&mut *self.idle());
        let _gone = timeout(PATIENCE, join_all(idle.into_iter().map(|one| one.held.leave()))).await;
        drop(self.behind_the_scenes.write().await);
    }

    /// Runs work that nobody waits for but [`close`](Self::close). Without a runtime, or out of time, it is dropped, and what
    /// it holds of a connection closes that.
    pub(crate) fn behind_the_scenes(&self, work: impl Future<Output = ()> + Send + 'static) {
        let Ok(runtime) = Handle::try_current() else { return };
        // None once the pool is being closed: whatever close waits for holds a permit until its own work is noted here.
        let noted = Arc::clone(&self.behind_the_scenes).try_read_owned();
        runtime.spawn(async move {
            let _in_time = timeout(PATIENCE, work).await;
            drop(noted);
        });
    }

    fn ensure_open(&self) -> Result<(), sqlx::Error> {
        if self.closed.load(Ordering::SeqCst) { Err(sqlx::Error::PoolClosed) } else { Ok(()) }
    }

    /// Closes what is too old, also while nobody asks for anything; for as long as the pool lives.
    fn sweep_from_now_on(self: &Arc<Self>) {
        self.sweeps.call_once(|| {
            let (pool, period) = (Arc::downgrade(self), self.limits.idle_timeout.clamp(SHORTEST_SWEEP, LONGEST_SWEEP));
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(period).await;
                    let Some(pool) = pool.upgrade() else { return };
                    pool.close_expired(&mut pool.idle());
                }
            });
        });
    }

    fn close_expired(&self, idle: &mut Vec<Idle>) {
        for expired in idle.extract_if(.., |one| one.expired(&self.limits)) {
            self.gate.count(event::EXPIRED);
            self.behind_the_scenes(expired.held.leave());
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Idle {
    fn expired(&self, limits: &Limits) -> bool {
        self.since.elapsed() > limits.idle_timeout || self.held.session.born.elapsed() > limits.max_lifetime
    }
}

impl Held {
    /// Says good-bye to the server, which then does not wait for the network to find out.
    async fn leave(self) {
        let Self { session, registered, home: _ } = self;
        let _gone = session.connection.close().await;
        drop(registered);
    }
}

/// A connection in use. Dropped, it is closed.
pub(crate) struct Taken {
    held: Held,
    /// New, or used a moment ago.
    warm: bool,
    permit: OwnedSemaphorePermit,
    pool: Arc<Pool>,
}

impl Taken {
    pub(crate) const fn session(&self) -> &Session {
        &self.held.session
    }

    pub(crate) const fn session_mut(&mut self) -> &mut Session {
        &mut self.held.session
    }

    pub(crate) fn keeps_its_session(&self) -> bool {
        self.pool.seeds.keeps_sessions()
    }

    /// Whose row key the session holds.
    pub(crate) const fn home(&self) -> Option<Life> {
        self.held.home
    }

    /// Whether this tenant is at home here, and the connection was used a moment ago.
    pub(crate) fn is_warm_home_of(&self, whose: Option<Life>) -> bool {
        self.warm && whose.is_some() && self.held.home == whose
    }

    /// Whether it may be kept for a tenant.
    pub(crate) fn may_stay(&self, whose: Option<Life>) -> bool {
        whose.is_some_and(|whose| self.pool.may_keep(whose))
    }

    /// For the next borrower. Only for a connection that was shown to be clean, and to hold no row key but this tenant's.
    pub(crate) fn give_back(self, home: Option<Life>) {
        let Self { held, permit, pool, warm: _ } = self;
        // Before the permit, so that whoever waits for that finds it.
        pool.idle().push(Idle { held: Held { home, ..held }, since: Instant::now() });
        drop(permit);
    }

    /// Closes the connection; without a runtime, by dropping the socket. Whoever waits for a connection does not wait for
    /// the good-bye, which may be a long one on a network that has gone.
    pub(crate) fn close(self, cause: Cause) {
        let Self { held, permit, pool, warm: _ } = self;
        pool.gate.count(cause.event());
        pool.behind_the_scenes(held.leave());
        drop(permit);
    }

    /// See [`Pool::behind_the_scenes`].
    pub(crate) const fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }
}

/// A connection that lay idle for longer is asked whether it is alive before a tenant's statement runs on it.
const WARM: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const SHORTEST_SWEEP: Duration = Duration::from_millis(100);
const LONGEST_SWEEP: Duration = Duration::from_secs(30);
/// What goes on behind the scenes, a rollback, a cleaning or a good-bye, may take so long. Nobody waits for it but whoever
/// closes the pool.
const PATIENCE: Duration = Duration::from_secs(5);
