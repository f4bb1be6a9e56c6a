//! The pool, before and after it was inspected.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sqlx::Connection;
use tenancy_core::{Gate, Realm, StoreName, TenantContext};
use tokio::sync::Semaphore;

use crate::declaration::{DEFAULT_SETTING, Declaration};
use crate::error::PgError;
use crate::inspect::{self, InspectPolicy, Inspection};
use crate::options::PgOptions;
use crate::pool::Pool;
use crate::pooler;
use crate::replica::Replica;
use crate::reports::ReportPool;
use crate::scope::Scope;
use crate::seeds::Seeds;
use crate::signed::ensure_known;
use crate::tenant_db::TenantDb;
use crate::untenanted::Untenanted;

/// A database of a realm. What it can do depends on its state: an [`Uninspected`] one can be inspected, and only an
/// [`Inspected`] one can be scoped.
///
/// ```no_run
/// # async fn run(realm: &tenancy_core::Realm, ctx: &tenancy_core::TenantContext) -> Result<(), tenancy_pg::PgError> {
/// use tenancy_pg::{Database, Declaration, PgOptions, RowKeyType, TenantTable};
///
/// let declaration = Declaration::builder()
///     .tenant_table(TenantTable::new("public", "note", "tenant_id", RowKeyType::Uuid)?)
///     .build()?;
/// let options = PgOptions::new("postgres://app@localhost/rag".parse()?);
/// let database = Database::open(realm, options, &declaration).await?;
/// let mine = database.scoped(ctx)?;
/// let notes: i64 = sqlx::query_scalar("select count(*) from note").fetch_one(&mine).await?;
/// # let _ = notes;
/// # Ok(())
/// # }
/// ```
///
/// ```compile_fail,E0599
/// # async fn run(realm: &tenancy_core::Realm, ctx: &tenancy_core::TenantContext) -> Result<(), tenancy_pg::PgError> {
/// # use tenancy_pg::{Database, PgOptions};
/// let options = PgOptions::new("postgres://app@localhost/rag".parse()?);
/// let database = Database::connect(realm, options).await?;
/// let mine = database.scoped(ctx)?; // not inspected: no such method
/// # Ok(())
/// # }
/// ```
pub struct Database<State> {
    state: State,
}

/// The state of a [`Database`] that can only be inspected.
pub struct Uninspected {
    gate: Gate,
    options: PgOptions,
}

/// The state of a [`Database`] that passed the inspection.
#[derive(Clone)]
pub struct Inspected {
    shared: Arc<Shared>,
}

/// What the handles of an inspected database share.
pub(crate) struct Shared {
    pub(crate) gate: Gate,
    pub(crate) pool: Arc<Pool>,
    pub(crate) replica: Option<Replica>,
    pub(crate) options: PgOptions,
    pub(crate) seeds: Arc<Seeds>,
    pub(crate) declaration: Declaration,
    /// Places for listeners, each of which holds a connection of its own.
    pub(crate) listeners: Arc<Semaphore>,
    /// Of the role that reads reports.
    pub(crate) reports: Option<ReportPool>,
    policy: InspectPolicy,
    last: Mutex<Inspection>,
    /// That connections were found to lead elsewhere than declared.
    mismatched: AtomicBool,
}

impl Database<Uninspected> {
    /// Connects a few times, to see that it can, and that what stands between is what was declared. Dropped before it
    /// answers: its connections are closed.
    ///
    /// # Errors
    /// [`PgError::PoolerMismatch`]; [`PgError::NeedsSessions`] for a signed scope or kept connections behind a
    /// transaction pooler; or [`PgError`] when it can't connect.
    pub async fn connect(realm: &Realm, options: PgOptions) -> Result<Self, PgError> {
        let gate = Gate::new(realm, STORE);
        let gate = match options.region_of() {
            Some(region) => gate.in_region(region.clone()),
            None => gate,
        };
        options.ensure_sessions()?;
        pooler::verify(&options, DEFAULT_SETTING).await?;
        Ok(Self { state: Uninspected { gate, options } })
    }

    /// Looks whether the database keeps tenants apart for the role that connects, and for the one that reads reports where
    /// there is one. Nothing is changed: what is tried is rolled back. Dropped before it answers: its connections are
    /// closed.
    ///
    /// # Errors
    /// [`PgError::Inspection`] with the whole report when anything fatal was found; [`PgError::SignedMismatch`] when only
    /// one of the options and the declaration is signed; [`PgError::SigningKey`] when the database does not accept the key
    /// that signs; [`PgError::Replica`] for a server to read from that is no standby of this one (one that can't be
    /// reached is not read from until it can); or [`PgError`] when it can't look.
    pub async fn inspect(self, declaration: &Declaration) -> Result<Database<Inspected>, PgError> {
        self.inspect_with(declaration, InspectPolicy::default()).await
    }

    /// As [`inspect`](Self::inspect), with other severities.
    ///
    /// # Errors
    /// As [`inspect`](Self::inspect).
    pub async fn inspect_with(
        self,
        declaration: &Declaration,
        policy: InspectPolicy,
    ) -> Result<Database<Inspected>, PgError> {
        if self.state.options.keys().is_some() != declaration.signed() {
            return Err(PgError::SignedMismatch);
        }
        let inspection = look(&self.state.options, declaration, policy).await?.passed()?;
        let Uninspected { gate, options } = self.state;
        let seeds = options.seeds(declaration.setting());
        // After the inspection, so that what a replica must show is no older than what was inspected.
        let replica = match options.of_replica() {
            Some(of_replica) => Some(Replica::open(gate.clone(), &options, &of_replica, declaration.setting()).await?),
            None => None,
        };
        let pool = Pool::new(gate.clone(), options.connect_options(), seeds.clone(), options.limits());
        let seeds = Arc::new(seeds);
        let reports = options.of_reports().map(|options| ReportPool::new(gate.clone(), options, declaration));
        let declaration = declaration.clone();
        let shared = Shared {
            gate,
            pool,
            replica,
            options,
            seeds,
            declaration,
            listeners: Arc::new(Semaphore::new(LISTENERS)),
            reports,
            policy,
            last: Mutex::new(inspection),
            mismatched: AtomicBool::new(false),
        };
        Ok(Database { state: Inspected { shared: Arc::new(shared) } })
    }

    /// The report, whatever it says: for a command line that shows it. Dropped as [`inspect`](Self::inspect).
    ///
    /// # Errors
    /// [`PgError`] when it can't look.
    pub async fn report(&self, declaration: &Declaration, policy: InspectPolicy) -> Result<Inspection, PgError> {
        inspect::inspect(&self.state.options, declaration, policy).await
    }
}

impl Database<Inspected> {
    /// Connects and inspects.
    ///
    /// # Errors
    /// As [`Database::connect`] and [`Database::inspect`].
    pub async fn open(realm: &Realm, options: PgOptions, declaration: &Declaration) -> Result<Self, PgError> {
        Database::connect(realm, options).await?.inspect(declaration).await
    }

    /// The database in a tenant's scope.
    ///
    /// # Errors
    /// [`PgError::Denied`], recorded, for a context of another realm, of a tenant placed elsewhere, or one that may not
    /// be used any more; [`PgError::RowKeyType`] when the tenant's row key does not fit the declared tables.
    pub fn scoped(&self, context: &TenantContext) -> Result<TenantDb, PgError> {
        let shared = &self.state.shared;
        let pass = shared.gate.scoped(context)?;
        let key = context.record().row_key();
        if !shared.declaration.takes(key) {
            return Err(PgError::RowKeyType);
        }
        let scope =
            Scope::of(shared.declaration.setting_name(), context.record(), shared.options.keys(), &shared.seeds)?;
        Ok(TenantDb::new(Arc::clone(shared), pass, Arc::new(scope)))
    }

    /// What it was inspected by.
    #[must_use]
    pub fn declaration(&self) -> &Declaration {
        &self.state.shared.declaration
    }

    /// The tables that are the same for everybody.
    #[must_use]
    pub fn untenanted(&self) -> Untenanted {
        Untenanted::new(Arc::clone(&self.state.shared))
    }

    /// Looks again. After a report with a fatal finding, or once another pooler was found than the declared one, no handle
    /// of this database begins anything until a later look is free of that. On a timer: [`watch`](Self::watch).
    ///
    /// A replica shows at each read whether it may serve it, so what is found of it here stops nothing. From then on it
    /// serves nobody before it has replayed what was inspected.
    ///
    /// # Errors
    /// As [`Database::inspect`]. One that can't look leaves the last report standing. After a good report what is wrong
    /// with the replica.
    pub async fn reinspect(&self) -> Result<Inspection, PgError> {
        let shared = self.shared();
        let inspection = shared.settle(shared.look().await)?;
        shared.look_at_replica().await?;
        Ok(inspection)
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.state.shared
    }

    /// The last report: what was found and is not fatal.
    #[must_use]
    pub fn inspection(&self) -> Inspection {
        self.state.shared.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Closes the pool, and those of the replica and the reports: nothing begins any more, and whatever is in use is waited
    /// for, until it is rolled back, cleaned and on record behind the scenes too. So the realm is closed after it.
    /// Idempotent. Dropped before it answers: nothing begins any more; call it again to wait.
    pub async fn close(&self) {
        let shared = self.shared();
        shared.pool.close().await;
        if let Some(replica) = &shared.replica {
            replica.close().await;
        }
        if let Some(reports) = &shared.reports {
            reports.pool.close().await;
        }
    }
}

impl Shared {
    /// Looks at the database and at what stands between.
    pub(crate) async fn look(&self) -> Result<Inspection, PgError> {
        pooler::verify(&self.options, self.declaration.setting()).await?;
        look(&self.options, &self.declaration, self.policy).await
    }

    /// Looks at the replica, if there is one, and at how far the primary has come.
    pub(crate) async fn look_at_replica(&self) -> Result<(), PgError> {
        match (&self.replica, self.options.of_replica()) {
            (Some(replica), Some(of_replica)) => {
                replica.look(&self.options, &of_replica, self.declaration.setting()).await
            }
            (None, _) | (_, None) => Ok(()),
        }
    }

    /// Goes by what was found from now on.
    pub(crate) fn settle(&self, looked: Result<Inspection, PgError>) -> Result<Inspection, PgError> {
        match &looked {
            Ok(inspection) => {
                self.mismatched.store(false, Ordering::SeqCst);
                *self.last.lock().unwrap_or_else(PoisonError::into_inner) = inspection.clone();
            }
            Err(PgError::PoolerMismatch) => self.mismatched.store(true, Ordering::SeqCst),
            Err(_could_not_look) => {}
        }
        looked?.passed()
    }

    /// Refuses after a re-inspection that failed.
    pub(crate) fn ensure_inspected(&self) -> Result<(), PgError> {
        if self.mismatched.load(Ordering::SeqCst) {
            return Err(PgError::PoolerMismatch);
        }
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.fatal().next().is_none() { Ok(()) } else { Err(PgError::Inspection(Box::new(last.clone()))) }
    }
}

/// Inspects, and where that finds nothing fatal has the database verify the key that signs.
async fn look(options: &PgOptions, declaration: &Declaration, policy: InspectPolicy) -> Result<Inspection, PgError> {
    let inspection = inspect::inspect(options, declaration, policy).await?;
    if let Some(keys) = options.keys().filter(|_| inspection.fatal().next().is_none()) {
        let mut connection = options.session(declaration.setting()).await?;
        let known = ensure_known(&mut connection, keys).await;
        let _closed = connection.close().await;
        known?;
    }
    Ok(inspection)
}

impl Clone for Database<Inspected> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone() }
    }
}

impl<State> fmt::Debug for Database<State> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = std::any::type_name::<State>();
        write!(f, "Database<{}>", state.rsplit("::").next().unwrap_or(state))
    }
}

impl fmt::Debug for Uninspected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Uninspected")
    }
}

impl fmt::Debug for Inspected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inspected")
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

/// The name under which placements name cells of this store, and audit records the store.
pub const STORE: StoreName = StoreName::new("postgres");
/// How many listeners a database has at a time.
const LISTENERS: usize = 16;
