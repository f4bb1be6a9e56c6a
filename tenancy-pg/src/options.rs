//! How to reach the database: configuration only, never a live pool.

use std::fmt;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tenancy_core::Region;

use crate::error::PgError;
use crate::mode::Mode;
use crate::pool::Limits;
use crate::pooler::Pooler;
use crate::seeds::{Seeds, SynchronousCommit, TimeOuts, search_path_sql};
use crate::session::Session;
use crate::signed::{REACH_SETTING, SEAL_SETTING, SigningKeys};

/// Where the database is and how many connections to keep.
///
/// Hooks on connections can't be given: one that changes the role or the setting would run behind the inspection's
/// back.
#[derive(Clone)]
#[must_use]
pub struct PgOptions {
    connect: PgConnectOptions,
    region: Option<Region>,
    limits: Limits,
    search_path: Vec<String>,
    time_outs: TimeOuts,
    synchronous_commit: SynchronousCommit,
    pooler: Pooler,
    signed: Option<SigningKeys>,
    mode: Mode,
    replica: Option<PgConnectOptions>,
    replay_wait: Duration,
    reports: Reports,
}

/// Where reports come from.
#[derive(Clone)]
enum Reports {
    /// Nowhere.
    None,
    /// From these connections, on a role of their own.
    From(Box<PgConnectOptions>),
    /// These are those options.
    Here,
}

impl PgOptions {
    /// Up to 10 connections, 10 s to wait for one, 30 s for a statement, a minute between two statements of a
    /// transaction, names in the schema `public`, in the realm's own region.
    pub fn new(connect: PgConnectOptions) -> Self {
        Self {
            connect,
            region: None,
            limits: Limits {
                most: 10,
                acquire_timeout: Duration::from_secs(10),
                idle_timeout: Duration::from_secs(600),
                max_lifetime: Duration::from_secs(1800),
                kept_per_tenant: 2,
                waits_for_the_server: true,
            },
            search_path: vec!["public".to_owned()],
            time_outs: TimeOuts {
                statement: Duration::from_secs(30),
                lock: Duration::ZERO,
                idle_in_transaction: Duration::from_secs(60),
            },
            synchronous_commit: SynchronousCommit::On,
            pooler: Pooler::None,
            signed: None,
            mode: Mode::Local,
            replica: None,
            replay_wait: Duration::ZERO,
            reports: Reports::None,
        }
    }

    /// How to log in as the role that reads the declared reports across tenants, see
    /// [`Database::across`](crate::Database::across). It must be a role of its own, and is inspected with the service's. Its
    /// connections are in a pool of their own, with the limits and time-outs of this one.
    pub fn reports(mut self, connect: PgConnectOptions) -> Self {
        self.reports = Reports::From(Box::new(connect));
        self
    }

    /// The region the database lies in: tenants placed elsewhere are refused.
    pub fn region(mut self, region: Region) -> Self {
        self.region = Some(region);
        self
    }

    /// What stands between this process and the server; nothing, unless it is said.
    pub const fn pooler(mut self, pooler: Pooler) -> Self {
        self.pooler = pooler;
        self
    }

    /// How a tenant comes by a connection; [`Mode::Local`], unless it is said.
    pub const fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// How many idle connections [`Mode::Sticky`] keeps for one tenant when it gives one back; 2, unless it is said. They give way to
    /// whoever needs a connection, the one that was used last at the latest.
    pub const fn sticky(mut self, per_tenant: u32) -> Self {
        self.limits.kept_per_tenant = per_tenant;
        self
    }

    /// Seals every scope with the current one of these keys, so that SQL that was injected into a statement can't change
    /// the tenant. The declaration must be a signed one, and nothing may share sessions on the way to the server.
    pub fn signed(mut self, keys: SigningKeys) -> Self {
        self.signed = Some(keys);
        self
    }

    /// A standby of the database, for [`TenantDb::read`](crate::TenantDb::read). The same database as the same login, with
    /// what is declared here in between, and as many connections again.
    ///
    /// Each read shows in the batch that opens it that the server is a standby of the primary and has replayed what this
    /// process knows the tenant to have committed; if not, or if no answer comes within a second or two, the primary
    /// serves it. So the address may be a name or a pooler in front of several standbys.
    ///
    /// Its region is the database's: it holds every tenant's rows, and no placement is compared with where it lies.
    pub fn replica(mut self, connect: PgConnectOptions) -> Self {
        self.replica = Some(connect);
        self
    }

    /// How long a read waits for the replica to replay what the tenant has committed, before the primary serves it; not at
    /// all, unless it is said.
    pub const fn read_your_writes(mut self, wait: Duration) -> Self {
        self.replay_wait = wait;
        self
    }

    /// When a commit counts as kept; `on` unless it is said.
    pub const fn synchronous_commit(mut self, when: SynchronousCommit) -> Self {
        self.synchronous_commit = when;
        self
    }

    /// The most connections at a time, those aside that are saying good-bye.
    pub const fn max_connections(mut self, most: u32) -> Self {
        self.limits.most = most;
        self
    }

    /// How long to wait for a connection. A context's deadline may cut it short.
    pub const fn acquire_timeout(mut self, timeout: Duration) -> Self {
        self.limits.acquire_timeout = timeout;
        self
    }

    /// After how long an idle connection is closed.
    pub const fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.limits.idle_timeout = timeout;
        self
    }

    /// After how long any connection is closed.
    pub const fn max_lifetime(mut self, lifetime: Duration) -> Self {
        self.limits.max_lifetime = lifetime;
        self
    }

    /// The schemas in which unqualified names are looked for, first to last. Names as the catalog holds them.
    ///
    /// Every session starts with this path and goes back to it between two tenants, whatever the role's or database's
    /// own default says. Temporary objects are looked for last.
    pub fn search_path<S: Into<String>>(mut self, schemas: impl IntoIterator<Item = S>) -> Self {
        self.search_path = schemas.into_iter().map(Into::into).collect();
        self
    }

    /// The longest a statement may run on the server. A context's deadline may cut it short, so that a statement whose
    /// caller is gone does not run on for long.
    pub const fn statement_timeout(mut self, timeout: Duration) -> Self {
        self.time_outs.statement = timeout;
        self
    }

    /// The longest a statement may wait for a lock on the server; zero, the default, for as long as it may run.
    pub const fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.time_outs.lock = timeout;
        self
    }

    /// How long a transaction may lie idle between two statements before the server ends its session, so that a caller
    /// that hangs does not keep locks; zero for no limit.
    pub const fn idle_in_transaction_timeout(mut self, timeout: Duration) -> Self {
        self.time_outs.idle_in_transaction = timeout;
        self
    }

    pub(crate) const fn region_of(&self) -> Option<&Region> {
        self.region.as_ref()
    }

    pub(crate) const fn limits(&self) -> Limits {
        let kept_per_tenant = match self.mode {
            Mode::Local => 0,
            Mode::Sticky => self.limits.kept_per_tenant,
        };
        Limits { kept_per_tenant, ..self.limits }
    }

    /// The same, with the replica in the place of the primary.
    pub(crate) fn of_replica(&self) -> Option<Self> {
        let connect = self.replica.clone()?;
        Some(Self { connect, replica: None, mode: Mode::Local, ..self.clone() })
    }

    pub(crate) const fn replay_wait(&self) -> Duration {
        self.replay_wait
    }

    /// A reader that gets no connection has somewhere else to go.
    pub(crate) fn limits_of_a_replica(&self, patience: Duration) -> Limits {
        let limits = self.limits();
        Limits { acquire_timeout: limits.acquire_timeout.min(patience), waits_for_the_server: false, ..limits }
    }

    /// Whether a statement for a caller with so much time left may run where its tenant is at home: a seal and a shorter
    /// time-out need a transaction.
    pub(crate) fn visits(&self, remaining: Duration) -> bool {
        self.mode == Mode::Sticky && self.signed.is_none() && self.shortened(remaining).is_none()
    }

    /// What a statement may take for a caller with so much time left, where that is less than any may.
    pub(crate) fn shortened(&self, remaining: Duration) -> Option<Duration> {
        let pinned = self.time_outs.statement;
        (pinned.is_zero() || remaining < pinned).then_some(remaining)
    }

    pub(crate) const fn pooler_of(&self) -> Pooler {
        self.pooler
    }

    pub(crate) fn search_path_sql(&self) -> String {
        search_path_sql(&self.search_path)
    }

    pub(crate) fn seeds(&self, setting: &str) -> Seeds {
        let seeds = Seeds::new(setting, &self.search_path_sql(), &self.time_outs, self.synchronous_commit, self.pooler);
        // So that there is one to be shown, also where none was made.
        let seeds = if self.signed.is_some() { seeds.and(SEAL_SETTING, "") } else { seeds };
        match self.reports {
            // Whatever the role's own default says, nothing reaches every tenant until a scope does.
            Reports::Here => seeds.and(REACH_SETTING, ""),
            Reports::None | Reports::From(_) => seeds,
        }
    }

    /// The options of the role that reads reports.
    pub(crate) fn of_reports(&self) -> Option<Self> {
        match &self.reports {
            Reports::From(connect) => {
                let connect = connect.as_ref().clone();
                Some(Self { connect, mode: Mode::Local, reports: Reports::Here, ..self.clone() })
            }
            Reports::None | Reports::Here => None,
        }
    }

    /// What needs a session of its own is refused where sessions are shared: a seal is bound to its backend.
    pub(crate) fn ensure_sessions(&self) -> Result<(), PgError> {
        let needs_them = self.signed.is_some() || self.mode == Mode::Sticky;
        if needs_them && !self.pooler.keeps_sessions() { Err(PgError::NeedsSessions) } else { Ok(()) }
    }

    pub(crate) const fn keys(&self) -> Option<&SigningKeys> {
        self.signed.as_ref()
    }

    pub(crate) fn connect_options(&self) -> PgConnectOptions {
        self.connect.clone().disable_statement_logging()
    }

    /// A session outside the pool, made the way the pool makes them.
    pub(crate) async fn session(&self, setting: &str) -> Result<PgConnection, sqlx::Error> {
        Ok(Session::connect(&self.connect_options(), &self.seeds(setting)).await?.connection)
    }
}

/// Statements, slow ones included, and notices of the server are not logged: they quote row keys and data.
pub(crate) fn quiet(options: PgConnectOptions) -> PgConnectOptions {
    options.disable_statement_logging().options([("client_min_messages", "error")])
}

/// For whoever owns the tables. Where row level security would hide rows from it, a statement fails instead: an owner under
/// FORCE who changes no row because it sees none is told so.
pub(crate) fn owner_options(options: PgConnectOptions) -> PgConnectOptions {
    quiet(options).options([("row_security", "off")])
}

impl fmt::Debug for PgOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgOptions")
            .field("region", &self.region)
            .field("max_connections", &self.limits.most)
            .finish_non_exhaustive()
    }
}
