//! A connection on loan, which goes back to the pool only after it was shown to be clean.
//!
//! sqlx decides by a depth that it counts on the client whether a transaction is open. A `begin` whose future was
//! dropped, or whose batch failed half-way, leaves that count at zero with a transaction open, and the pool hands it to
//! the next borrower, tenant included (sqlx issues 4385 and 4393; both reproduced in this crate's tests). Here nothing
//! is decided by that count: a lease starts out dirty, only the proof at the end of a closing batch makes it clean, and
//! a dirty one is closed.

use std::sync::Arc;

use futures_core::stream::BoxStream;
use sqlx::postgres::{PgConnection, PgRow, PgStatement, PgTypeInfo};
use sqlx::{Connection, Describe, Executor, Postgres, Row, SqlStr};
use tenancy_core::{Denial, Life};

use crate::batch::{Stopped, batch};
use crate::clean;
use crate::closing::{Closing, wrote};
use crate::error::PgError;
use crate::event::Cause;
use crate::executor::Step;
use crate::pool::{Pool, Taken};
use crate::scope::{Began, End, Ending, Opening, Scope};
use crate::session::Session;
use crate::statement::OneStatement;
use crate::witness::{UNPROVEN, Witness};

mod behind;

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
    /// Why it is closed, if it is.
    cause: Cause,
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
        let (mut lease, opened) = Self::opened(pool, scope, opening).await?;
        lease.recognize(&opened)?;
        lease.seal(scope, &opened, witness).await?;
        Ok(lease)
    }

    /// A connection, and what the opening batch said there. Whoever calls goes on with
    /// [`recognize`](Self::recognize) and [`seal`](Self::seal).
    pub(crate) async fn opened(
        pool: &Arc<Pool>,
        scope: &Scope,
        opening: &Opening,
    ) -> Result<(Self, Vec<PgRow>), PgError> {
        let mut left = pool.most();
        loop {
            let mut lease = Self::take(pool, scope, opening.began()).await?;
            let opened = match lease.move_out(scope).await {
                Ok(()) => lease.batch(&opening.sql).await,
                Err(stopped) => Err(stopped),
            };
            match opened {
                Ok(rows) => return Ok((lease, rows)),
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
        Ok(Self { taken, began, witness: None, handed_out: false, visit: false, cause: Cause::Dropped })
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
        if self.is_clean(&rows) {
            return Ok(());
        }
        self.cause = Cause::Unclean;
        Err(Stopped::unclean())
    }

    /// Looks at what the opening batch returned: is it this session, and clean?
    pub(crate) fn recognize(&mut self, opened: &[PgRow]) -> Result<(), PgError> {
        let Some(who) = opened.first() else { return Err(PgError::RowNotFound) };
        if self.keeps_its_session() {
            if clean::shows(who, &self.session()?.identity) {
                return Ok(());
            }
            self.cause = Cause::Unclean;
            return Err(PgError::PoolerMismatch);
        }
        let clean: bool = opened.get(1).ok_or(PgError::RowNotFound)?.try_get(0)?;
        if !clean {
            self.cause = Cause::Unclean;
            return Err(Denial::StoreBreach.into());
        }
        Ok(())
    }

    /// Seals the transaction where that is asked for. From here on the tenant's statements may run.
    pub(crate) async fn seal(&mut self, scope: &Scope, opened: &[PgRow], witness: Witness) -> Result<(), PgError> {
        let nonce = opened.get(1).and_then(|row| row.try_get(0).ok());
        if let Some(sealing) = scope.sealing(&mut self.began, nonce)? {
            self.batch(&sealing).await.map_err(sqlx::Error::from)?;
        }
        self.witness = Some(witness);
        Ok(())
    }

    /// The value of an expression of ours.
    pub(crate) async fn ask(&mut self, expression: &str) -> Result<PgRow, PgError> {
        let rows = self.batch(&format!("select {expression}")).await.map_err(sqlx::Error::from)?;
        rows.into_iter().next_back().ok_or(PgError::RowNotFound)
    }

    /// The connection, for a statement of the transaction.
    pub(crate) fn connection(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        self.cause = Cause::Dropped;
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

    /// Describes a statement, which leaves no name where names are not this client's own.
    pub(crate) async fn describe(&mut self, sql: SqlStr) -> Result<Describe<Postgres>, sqlx::Error> {
        let named = self.keeps_its_session();
        let connection = self.connection()?;
        let described = connection.describe(sql).await?;
        if !named {
            connection.clear_cached_statements().await?;
        }
        Ok(described)
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
            return Closing::Ended { wrote: false, point: None };
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
                Closing::ended(&ending, &rows)
            }
            Ok(_elsewhere) => self.breach(),
            Err(stopped) if stopped.completed > ending.end_at && ending.holds(&stopped.rows) => {
                Closing::ended(&ending, &stopped.rows)
            }
            Err(stopped) => {
                let closing = self.closing(stopped, &ending);
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
            return Closing::Ended { wrote: false, point: None };
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
                Closing::ended(ending, &rows)
            }
            // The transaction has ended; what failed is the cleaning, and the connection pays for it.
            Err(Stopped { completed, rows, .. }) if completed > ending.end_at && ending.holds(&rows) => {
                Closing::ended(ending, &rows)
            }
            Ok(_elsewhere) => self.breach(),
            Err(stopped) => {
                let closing = self.closing(stopped, ending);
                if matches!(closing, Closing::WasAborted) {
                    self.clean(abandoning, home).await;
                }
                closing
            }
        }
    }

    /// `None` once the connection has gone.
    pub(crate) fn pool(&self) -> Option<Arc<Pool>> {
        self.taken.as_ref().map(|taken| Arc::clone(taken.pool()))
    }

    /// Proves the scope in the middle of the transaction and runs a command of ours behind the proof, in one round-trip.
    pub(crate) async fn prove_then(&mut self, scope: &Scope, command: &str) -> Closing {
        let ending = scope.proving(&self.began, command);
        match self.batch(&ending.sql).await {
            Ok(rows) => Closing::Ended { wrote: wrote(&rows), point: None },
            Err(stopped) => self.closing(stopped, &ending),
        }
    }

    fn closing(&mut self, stopped: Stopped, ending: &Ending) -> Closing {
        let closing = stopped.closing(ending);
        if matches!(closing, Closing::Breach) { self.breach() } else { closing }
    }

    fn breach(&mut self) -> Closing {
        self.cause = Cause::Breach;
        Closing::Breach
    }

    /// Notes that a statement ended with this error, for the case that the connection is closed.
    pub(crate) fn failed(&mut self, error: &sqlx::Error) {
        self.cause = Cause::of(error);
    }

    /// Runs a command of ours.
    pub(crate) async fn command(&mut self, sql: &str) -> Result<(), sqlx::Error> {
        Ok(self.batch(sql).await.map(drop)?)
    }

    async fn batch(&mut self, sql: &str) -> Result<Vec<PgRow>, Stopped> {
        let ended = match self.connection() {
            Ok(connection) => batch(connection, sql).await,
            Err(error) => Err(error.into()),
        };
        if let Err(stopped) = &ended {
            self.cause = Cause::of(&stopped.error);
        }
        ended
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(witness) = self.witness.take() {
            witness.failed_as("pg.end", UNPROVEN);
        }
        if let Some(taken) = self.taken.take() {
            taken.close(if self.handed_out { Cause::HandedOut } else { self.cause });
        }
    }
}
