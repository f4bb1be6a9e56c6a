//! Tries, as the service, to cross from one tenant to another, and tells what crossed.
//!
//! The inspection reads the catalog and judges. This judges the judge: in the scope of each of two tenants, and in
//! nobody's, it tries `SELECT`, `COPY`, `INSERT`, `UPDATE`, `DELETE`, `TRUNCATE` and triggers on everything within reach,
//! declared or not, calls every function, and does it again as each role that it can become and with each setting that
//! a policy reads. What it can't try it reports as not proven, never as fine.

mod calls;
mod catalog;
mod leftovers;
mod oracles;
mod postures;
mod prober;
mod progress;
mod reads;
mod report;
mod reporter;
mod scopes;
mod session;
mod writes;

use std::collections::HashMap;

use tenancy_core::{Life, RowKey};

pub use progress::ProbeProgress;
pub use report::{Command, Crossing, CrossingKind, Party, ProbeReport, Unproven};

use self::prober::{Prober, Tenant};
use self::scopes::Scopes;
use self::session::Session;
use crate::declaration::Declaration;
use crate::error::PgError;
use crate::options::PgOptions;

/// Where to probe, and what to look for.
#[derive(Clone, Debug)]
#[must_use]
pub struct ProbeOptions {
    database: PgOptions,
    canaries: [Option<String>; 2],
    lives: Option<[Life; 2]>,
    disposable: bool,
    progress: ProbeProgress,
}

impl ProbeOptions {
    /// Probes with the login of the service; a signed declaration with its keys ([`PgOptions::signed`]).
    pub fn new(database: PgOptions) -> Self {
        let (canaries, progress) = ([None, None], ProbeProgress::default());
        Self { database, canaries, lives: None, disposable: false, progress }
    }

    /// The lives of the two tenants in the registry, which a seal holds beside the row key. Without this word a row key
    /// that is a uuid is the life too.
    pub const fn lives(mut self, a: Life, b: Life) -> Self {
        self.lives = Some([a, b]);
        self
    }

    /// Texts that are in rows of the first tenant and of the second, and nowhere else: they give a row away where no
    /// tenant column does, in a view, a function's result or a table that nobody declared. A row key that is a uuid
    /// does so anyhow.
    pub fn canaries(mut self, a: impl Into<String>, b: impl Into<String>) -> Self {
        self.canaries = [Some(a.into()), Some(b.into())];
        self
    }

    /// Says that the database is a copy in which something may stay behind: places of sequences, and whatever its
    /// functions do outside of it. Without this word [`probe`] refuses a database where anything could.
    pub const fn disposable(mut self) -> Self {
        self.disposable = true;
        self
    }

    /// Tells there how far the run is.
    pub fn progress(mut self, progress: &ProbeProgress) -> Self {
        self.progress = progress.clone();
        self
    }
}

/// Tries to cross between two tenants that have rows.
///
/// Where the options name the role that reads reports ([`PgOptions::reports`]), it is tried too. In a tenant's scope, which
/// is what a grant opens, it has the declared columns; what else it reads there, or writes, is a crossing by nobody.
///
/// Every attempt is in a transaction that is rolled back. What a transaction can't take back would stay: the values that
/// sequences gave out, and whatever functions, triggers and foreign tables do outside of the database, since each of them
/// is tried. So where the catalog shows any within reach, nothing is tried unless the database was said to be
/// [`disposable`](ProbeOptions::disposable). Tables are locked for moments, and what was written and rolled back leaves
/// dead rows to vacuum. A copy of the schema with two made-up tenants is the place for it; a row that stands for all of a
/// table's has to be there for either.
///
/// Dropped at any await: the connection is closed, and the server rolls back.
///
/// # Errors
/// [`PgError::ProbeLeaves`] before the first attempt, with what could stay behind. [`PgError`] when it can't connect or
/// the connection breaks. [`PgError::RowKeyType`] for keys that do not fit the declared tables or are one and the same.
/// [`PgError::SignedMismatch`] when only one of the options and the declaration is signed, and [`PgError::NeedsLife`] when
/// it is and nobody said the tenants' lives.
pub async fn probe(
    options: &ProbeOptions,
    declaration: &Declaration,
    a: &RowKey,
    b: &RowKey,
) -> Result<ProbeReport, PgError> {
    if !declaration.takes(a) || !declaration.takes(b) || a == b {
        return Err(PgError::RowKeyType);
    }
    if declaration.signed() != options.database.keys().is_some() {
        return Err(PgError::SignedMismatch);
    }
    let scopes = Scopes::new(declaration, options.database.keys(), options.lives, [a, b])?;
    let [canary_a, canary_b] = options.canaries.clone();
    let tenants = [Tenant::new(a, canary_a)?, Tenant::new(b, canary_b)?];
    let mut session = Session::open(&options.database, declaration.setting(), &options.progress).await?;
    let mut reporter = match options.database.of_reports() {
        Some(reports) => Some(Session::open(&reports, declaration.setting(), &options.progress).await?),
        None => None,
    };
    if !options.disposable {
        for session in [Some(&mut session), reporter.as_mut()].into_iter().flatten() {
            leftovers::refuse(session).await?;
        }
    }
    options.progress.begin();
    let report = ProbeReport::default();
    let (own, how, reporting) = (HashMap::new(), String::new(), false);
    let mut prober = Prober { session, declaration, scopes, tenants, own, report, how, reporting };
    prober.run().await?;
    if let Some(session) = reporter {
        prober.run_as_reporter(session).await?;
    }
    prober.report.attempts = prober.session.progress.attempts();
    Ok(prober.report)
}
