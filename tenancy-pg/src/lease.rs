//! A connection on loan, which goes back to the pool only after it was shown to be clean.
//!
//! sqlx decides by a depth that it counts on the client whether a transaction is open. A `begin` whose future was
//! dropped, or whose batch failed half-way, leaves that count at zero with a transaction open, and the pool hands it to
//! the next borrower, tenant included (sqlx issues 4385 and 4393; both reproduced in this crate's tests). Here nothing
//! is decided by that count: a lease starts out dirty, only the proof at the end of a closing batch makes it clean, and
//! a dirty one is closed.

use std::sync::Arc;
use std::time::Duration;

use futures_core::stream::BoxStream;
use sqlx::postgres::{PgConnection, PgRow, PgStatement, PgTypeInfo};
use sqlx::{Connection, Executor, Row, SqlStr};
use tenancy_core::{Denial, Life};
use tokio::runtime::Handle;

use crate::batch::{Stopped, batch};
use crate::clean;
use crate::error::PgError;
use crate::pool::{Pool, Taken};
use crate::scope::{Began, End, Ending, Opening, Scope};
use crate::session::{Identity, Session};
use crate::statement::OneStatement;
use crate::tenant_tx::Step;
use crate::witness::Witness;

/// A connection that is closed when dropped. It goes back to the pool by way of a cleaning that shows it clean.
pub(crate) struct Lease {
    taken: Option<Taken>,
    began: Began,
    /// Told when the lease is dropped. There from the opening until the answer of the closing batch.
    witness: Option<Witness>,
    /// That it was in other hands and is closed, clean or not.
    handed_out: bool,
    /// That there is no transaction: a statement runs by itself where its tenant is at home.
    visit: bool,
}

/// How a closing batch ended.
pub(crate) enum Closing {
    /// The transaction ended as asked.
    Ended {
        /// Whether it wrote anything.
        wrote: bool,
    },
    /// It was not the transaction that was opened, or not in its scope any more. Nothing was committed.
    Breach,
    /// The transaction was aborted before, so nothing could be proven.
    WasAborted,
    /// The server refused the end, or the connection broke.
    Failed {
        /// Why.
        error: sqlx::Error,
        /// Whether the scope was proven before that.
        proven: bool,
    },
}

impl Lease {
    /// Takes a connection from the pool and opens a transaction in a scope.
    ///
    /// Dropped at any await: the connection is closed. A connection that turns out to be dead is closed and another
    /// taken, as often as there can be connections in the pool.
    ///
    /// # Errors
    /// [`Denial::StoreBreach`], not recorded yet, for a shared session that somebody left unclean: hanging up in the
    /// middle of a transaction makes the pooler close it. [`PgError::PoolerMismatch`], or what the server says.
    pub(crate) async fn open(
        pool: &Arc<Pool>,
        scope: &Scope,
        opening: &Opening,
        witness: Witness,
    ) -> Result<Self, PgError> {
        let mut left = pool.most();
        loop {
            let mut lease = Self::take(pool, scope, opening.began()).await?;
            let opened = match lease.move_out(scope).await {
                Ok(()) => lease.batch(&opening.sql).await,
                Err(stopped) => Err(stopped),
            };
            match opened {
                Ok(rows) => {
                    lease.begin(scope, &rows).await?;
                    lease.witness = Some(witness);
                    return Ok(lease);
                }
                // It died while it lay in the pool, or was not clean.
                Err(e) if left > 0 && e.calls_for_another() => left -= 1,
                Err(e) => return Err(e.error.into()),
            }
        }
    }

    /// Takes a connection where this scope's tenant is at home, or makes it at home on one: then in one round-trip.
    /// Otherwise as [`open`](Self::open).
    pub(crate) async fn visit(pool: &Arc<Pool>, scope: &Scope, witness: Witness) -> Result<Self, PgError> {
        let mut left = pool.most();
        loop {
            let mut lease = Self::take(pool, scope, Began::nothing()).await?;
            lease.visit = true;
            let at_home = match &lease.taken {
                Some(taken) if taken.is_warm_home_of(scope.life()) => Ok(()),
                Some(_) | None => lease.clean_at_once(scope, true).await,
            };
            match at_home {
                Ok(()) => {
                    lease.witness = Some(witness);
                    return Ok(lease);
                }
                Err(e) if left > 0 && e.calls_for_another() => left -= 1,
                Err(e) => return Err(e.error.into()),
            }
        }
    }

    async fn take(pool: &Arc<Pool>, scope: &Scope, began: Began) -> Result<Self, PgError> {
        let taken = Some(pool.take(scope.life()).await?);
        Ok(Self { taken, began, witness: None, handed_out: false, visit: false })
    }

    /// A connection where another tenant is at home is cleaned, and proven, before anything else.
    async fn move_out(&mut self, scope: &Scope) -> Result<(), Stopped> {
        match self.taken.as_ref().and_then(Taken::home) {
            Some(other) if scope.life() != Some(other) => self.clean_at_once(scope, false).await,
            Some(_) | None => Ok(()),
        }
    }

    async fn clean_at_once(&mut self, scope: &Scope, kept: bool) -> Result<(), Stopped> {
        let cleaning = scope.cleaning(&self.session()?.identity, kept);
        let rows = self.batch(&cleaning).await?;
        if self.is_clean(&rows) { Ok(()) } else { Err(Stopped::unclean()) }
    }

    /// Looks at what the opening batch returned, and seals the transaction where that is asked for.
    async fn begin(&mut self, scope: &Scope, opened: &[PgRow]) -> Result<(), PgError> {
        let (Some(who), Some(last)) = (opened.first(), opened.last()) else { return Err(PgError::RowNotFound) };
        if !self.keeps_its_session() {
            return if last.try_get(0)? { Ok(()) } else { Err(Denial::StoreBreach.into()) };
        }
        if !clean::shows(who, &self.session()?.identity) {
            return Err(PgError::PoolerMismatch);
        }
        if let Some(sealing) = scope.sealing(&mut self.began, last.try_get(0)?)? {
            self.batch(&sealing).await.map_err(sqlx::Error::from)?;
        }
        Ok(())
    }

    /// The connection, for a statement of the transaction.
    pub(crate) fn connection(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        self.taken.as_mut().map(|taken| &mut taken.session_mut().connection).ok_or(sqlx::Error::WorkerCrashed)
    }

    /// The connection, for somebody whose statements nobody looks at: it is closed at the end, which must be that of the
    /// transaction that is under way now.
    pub(crate) async fn hand_out(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        if !self.handed_out {
            self.handed_out = true;
            let rows = self.batch("select pg_catalog.transaction_timestamp()").await?;
            let began = rows.first().ok_or(sqlx::Error::RowNotFound)?.try_get_raw(0)?;
            self.began.at = Some(began.as_str().map_err(sqlx::Error::Decode)?.to_owned());
        }
        self.connection()
    }

    /// Runs one statement of the transaction. It gets a name where names are this client's own.
    pub(crate) fn run(
        &mut self,
        statement: OneStatement,
    ) -> Result<BoxStream<'_, Result<Step, sqlx::Error>>, sqlx::Error> {
        let named = self.keeps_its_session();
        Ok(self.connection()?.fetch_many(if named { statement } else { statement.unnamed() }))
    }

    /// Prepares a statement, for what it tells of its parameters and columns.
    pub(crate) async fn prepare(&mut self, sql: SqlStr, types: &[PgTypeInfo]) -> Result<PgStatement, sqlx::Error> {
        let named = self.keeps_its_session();
        let connection = self.connection()?;
        let statement = connection.prepare_with(sql, types).await?;
        if !named {
            connection.clear_cached_statements().await?;
        }
        Ok(statement)
    }

    fn session(&self) -> Result<&Session, sqlx::Error> {
        self.taken.as_ref().map(Taken::session).ok_or(sqlx::Error::WorkerCrashed)
    }

    fn keeps_its_session(&self) -> bool {
        self.taken.as_ref().is_some_and(Taken::keeps_its_session)
    }

    /// Ends the transaction. The answer does not wait for the cleaning, which happens behind the scenes; but behind a
    /// transaction pooler, where the session is gone with the transaction, both are one batch.
    ///
    /// Dropped at any await: the connection is closed, and the transaction may or may not have been committed. Whoever
    /// calls records what comes back.
    pub(crate) async fn close(mut self, scope: &Scope, end: End) -> Closing {
        if self.visit {
            self.leave(scope, false);
            return Closing::Ended { wrote: false };
        }
        if !self.keeps_its_session() {
            return self.close_and_clean(scope, end).await;
        }
        let ending = scope.ending(end, &self.began);
        let ended = self.batch(&ending.sql).await;
        self.witness = None;
        match ended {
            Ok(rows) if ending.holds(&rows) => {
                self.clean_behind_the_scenes(Scope::cleaning, scope);
                Closing::Ended { wrote: wrote(&rows) }
            }
            Ok(_elsewhere) => Closing::Breach,
            Err(stopped) => {
                let closing = stopped.closing(ending.proof_at);
                if matches!(closing, Closing::WasAborted) {
                    self.clean_behind_the_scenes(Scope::abandoning, scope);
                }
                closing
            }
        }
    }

    /// Ends the transaction and cleans, in one round-trip, for a caller that nobody waits for. Dropped at any await: the
    /// connection is closed.
    pub(crate) async fn close_and_clean(self, scope: &Scope, end: End) -> Closing {
        if self.visit {
            self.leave(scope, true);
            return Closing::Ended { wrote: false };
        }
        let (Ok(session), home) = (self.session(), self.next_home(scope)) else { return Closing::Breach };
        let cleaning = scope.cleaning(&session.identity, home.is_some());
        let abandoning = scope.abandoning(&session.identity, home.is_some());
        let ending = scope.ending(end, &self.began);
        self.end_and_clean(&ending, &cleaning, &abandoning, home).await
    }

    async fn end_and_clean(mut self, ending: &Ending, cleaning: &str, abandoning: &str, home: Option<Life>) -> Closing {
        let ended = self.batch(&format!("{}; {cleaning}", ending.sql)).await;
        self.witness = None;
        match ended {
            Ok(rows) if ending.holds(&rows) => {
                self.give_back_if_clean(&rows, home);
                Closing::Ended { wrote: wrote(&rows) }
            }
            // The transaction has ended; what failed is the cleaning, and the connection pays for it.
            Err(Stopped { completed, rows, .. }) if completed > ending.end_at && ending.holds(&rows) => {
                Closing::Ended { wrote: wrote(&rows) }
            }
            Ok(_elsewhere) => Closing::Breach,
            Err(stopped) => {
                let closing = stopped.closing(ending.proof_at);
                if matches!(closing, Closing::WasAborted) {
                    self.clean(abandoning, home).await;
                }
                closing
            }
        }
    }

    /// Reads back, behind the scenes, whether a statement without a transaction ran in its scope; there is nobody left to
    /// tell but the record.
    fn leave(mut self, scope: &Scope, failed: bool) {
        let (Ok(runtime), Ok(session)) = (Handle::try_current(), self.session()) else { return };
        let home = self.next_home(scope);
        let asked = failed || home.is_none();
        let leaving = scope.leaving(&session.identity, home.is_some(), asked);
        runtime.spawn(async move {
            let ran = tokio::time::timeout(CLEANING_PATIENCE, self.batch(&leaving.sql)).await;
            // Without an answer, the lease itself records it.
            let Ok(Ok(rows)) = ran else { return };
            let Some(witness) = self.witness.take() else { return };
            match rows.last() {
                _elsewhere if !leaving.holds(&rows) => witness.breach(),
                Some(who) if !asked && self.session().is_ok_and(|session| clean::shows(who, &session.identity)) => {
                    self.give_back(home);
                }
                Some(_) | None => self.give_back_if_clean(&rows, home),
            }
        });
    }

    /// For whom the connection is kept after this.
    fn next_home(&self, scope: &Scope) -> Option<Life> {
        scope.life().filter(|_| self.taken.as_ref().is_some_and(|taken| taken.may_stay(scope.life())))
    }

    /// The lease stays dirty until the cleaning has answered: if the runtime ends meanwhile, or there is none, the
    /// connection is closed.
    fn clean_behind_the_scenes(self, cleaning: fn(&Scope, &Identity, bool) -> String, scope: &Scope) {
        let (Ok(runtime), Ok(session)) = (Handle::try_current(), self.session()) else { return };
        let home = self.next_home(scope);
        let cleaning = cleaning(scope, &session.identity, home.is_some());
        runtime.spawn(async move { tokio::time::timeout(CLEANING_PATIENCE, self.clean(&cleaning, home)).await });
    }

    async fn clean(mut self, cleaning: &str, home: Option<Life>) {
        if let Ok(rows) = self.batch(cleaning).await {
            self.give_back_if_clean(&rows, home);
        }
    }

    fn give_back_if_clean(&mut self, rows: &[PgRow], home: Option<Life>) {
        if self.is_clean(rows) {
            self.give_back(home);
        }
    }

    fn give_back(&mut self, home: Option<Life>) {
        if let Some(taken) = self.taken.take() {
            taken.give_back(home);
        }
    }

    /// Whether a cleaning showed a session that holds nothing of its last user. One that is shared shows it to whoever opens
    /// the next transaction there.
    fn is_clean(&self, rows: &[PgRow]) -> bool {
        let Some(taken) = self.taken.as_ref().filter(|_| !self.handed_out) else { return false };
        let Session { connection, identity, .. } = taken.session();
        !taken.keeps_its_session() || clean::shows_clean(rows, identity, connection.cached_statements_size())
    }

    /// Proves the scope in the middle of the transaction and runs a command of ours behind the proof, in one round-trip.
    pub(crate) async fn prove_then(&mut self, scope: &Scope, command: &str) -> Closing {
        match self.batch(&format!("{}; {command}", scope.proof(&self.began))).await {
            Ok(rows) => Closing::Ended { wrote: wrote(&rows) },
            Err(stopped) => stopped.closing(0),
        }
    }

    /// Runs a command of ours.
    pub(crate) async fn command(&mut self, sql: &str) -> Result<(), sqlx::Error> {
        Ok(self.batch(sql).await.map(drop)?)
    }

    async fn batch(&mut self, sql: &str) -> Result<Vec<PgRow>, Stopped> {
        match self.connection() {
            Ok(connection) => batch(connection, sql).await,
            Err(error) => Err(error.into()),
        }
    }
}

/// What the first statement of a closing batch said. Not known counts as yes: a record too many is better than none.
fn wrote(rows: &[PgRow]) -> bool {
    rows.first().and_then(|row| row.try_get(1).ok()).unwrap_or(true)
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(witness) = self.witness.take() {
            witness.unproven();
        }
        if let Some(taken) = self.taken.take() {
            taken.close();
        }
    }
}

/// A connection that is not clean by then is closed.
const CLEANING_PATIENCE: Duration = Duration::from_secs(5);
