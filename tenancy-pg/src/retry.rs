//! Transactions that are run again when the server could not put them in an order.

use std::error::Error;
use std::time::Duration;

use futures_core::future::BoxFuture;

use crate::error::PgError;
use crate::redact::DatabaseError;
use crate::tenant_db::TenantDb;
use crate::tenant_tx::TenantTx;
use crate::tx_options::TxOptions;

/// How often [`TenantDb::with_retry`] runs its work, and how it begins each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct RetryOptions {
    attempts: u32,
    first_pause: Duration,
    longest_pause: Duration,
    transaction: TxOptions,
}

impl RetryOptions {
    /// Five attempts with up to 10 ms, 20 ms, 40 ms and 80 ms between them, in transactions as
    /// [`TenantDb::begin`] begins them.
    pub const fn new() -> Self {
        Self {
            attempts: 5,
            first_pause: Duration::from_millis(10),
            longest_pause: Duration::from_secs(1),
            transaction: TxOptions::new(),
        }
    }

    /// How each transaction begins: [`Isolation::Serializable`](crate::Isolation::Serializable), say.
    pub const fn transaction(mut self, options: TxOptions) -> Self {
        self.transaction = options;
        self
    }

    /// How often the work is run at most, the first time included; at least once.
    pub const fn attempts(mut self, most: u32) -> Self {
        self.attempts = most;
        self
    }

    /// The longest pause before the second attempt. It doubles for each one after it, up to `longest`; how much of it is
    /// waited is drawn anew each time, so that those who got into each other's way don't meet again.
    pub const fn pause(mut self, first: Duration, longest: Duration) -> Self {
        (self.first_pause, self.longest_pause) = (first, longest);
        self
    }

    /// Before the attempt after so many others: somewhere between nothing and the longest for it.
    fn drawn_pause(self, attempts: u32) -> Duration {
        let doubled = self.first_pause.saturating_mul(2_u32.saturating_pow(attempts.saturating_sub(1)));
        doubled.min(self.longest_pause).mul_f64(random_share())
    }
}

impl Default for RetryOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl TenantDb {
    /// Runs work in a transaction and commits it; from the beginning, in a fresh transaction, when the server gave it up
    /// because of others (SQLSTATE 40001, a serialization failure, and 40P01, a deadlock).
    ///
    /// The work gets the transaction on loan: it can't commit it or keep it. It may be run more than once, so whatever
    /// else it does must stand that. Nothing else is tried again. In particular a commit whose outcome is not known, a
    /// connection that broke in the middle of it, is an error and may have happened; one that the server answered with
    /// those codes has not.
    ///
    /// ```no_run
    /// # async fn run(db: &tenancy_pg::TenantDb) -> Result<(), tenancy_pg::PgError> {
    /// use tenancy_pg::{Isolation, PgError, RetryOptions, TxOptions};
    ///
    /// let options = RetryOptions::new().transaction(TxOptions::new().isolation(Isolation::Serializable));
    /// let left: i64 = db
    ///     .with_retry(options, |tx| {
    ///         Box::pin(async {
    ///             let free = "select count(*) from seat where taken_by is null";
    ///             let left: i64 = sqlx::query_scalar(free).fetch_one(&mut *tx).await?;
    ///             sqlx::query("update seat set taken_by = $1 where id = $2").bind("me").bind(left).execute(tx).await?;
    ///             Ok::<_, PgError>(left - 1)
    ///         })
    ///     })
    ///     .await?;
    /// # let _ = left;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancelling
    /// Dropped while the work runs or waits: its transaction is rolled back, as any that is dropped, and no other begins.
    /// Dropped during the commit: it may or may not have been committed, as with [`TenantTx::commit`].
    ///
    /// # Records
    /// Each attempt is a transaction of its own in the log. One in which a statement failed leaves a `failed` record with
    /// the rule `pg.unproven`, as ever: the server can't show any more whose rows it saw.
    ///
    /// # Errors
    /// The error of the last attempt, once the attempts are used up, or as soon as the context's deadline would come
    /// before the next one. The work's own error, after a rollback; it is looked through for the code along its chain of
    /// sources, where [`PgError`], [`DatabaseError`] and [`sqlx::Error`] are understood. A [`PgError`] of
    /// [`begin_with`](Self::begin_with) or [`commit`](TenantTx::commit), or a breach that the rollback found, converted.
    pub async fn with_retry<'d, T, E>(
        &'d self,
        options: RetryOptions,
        mut work: impl for<'t> FnMut(&'t mut TenantTx<'d>) -> BoxFuture<'t, Result<T, E>>,
    ) -> Result<T, E>
    where
        E: From<PgError> + Error + 'static,
    {
        let mut attempts = 0;
        loop {
            let failed = match self.attempt(options.transaction, &mut work).await {
                Ok(value) => return Ok(value),
                Err(failed) => failed,
            };
            attempts += 1;
            let pause = options.drawn_pause(attempts);
            let goes_on = attempts < options.attempts && pause < self.context().remaining();
            match failed {
                Failed::BecauseOfOthers(_) if goes_on => tokio::time::sleep(pause).await,
                Failed::BecauseOfOthers(error) | Failed::ForGood(error) => return Err(error),
            }
        }
    }

    async fn attempt<'d, T, E>(
        &'d self,
        options: TxOptions,
        work: &mut impl for<'t> FnMut(&'t mut TenantTx<'d>) -> BoxFuture<'t, Result<T, E>>,
    ) -> Result<T, Failed<E>>
    where
        E: From<PgError> + Error + 'static,
    {
        let mut tx = self.begin_with(options).await.map_err(Failed::ours)?;
        match work(&mut tx).await {
            Ok(value) => tx.commit().await.map(|()| value).map_err(Failed::ours),
            Err(error) => match tx.rollback().await {
                // A breach is worse than whatever the work says.
                Err(denied @ PgError::Denied(_)) => Err(Failed::ForGood(denied.into())),
                Ok(()) | Err(_) => Err(Failed::of(error)),
            },
        }
    }
}

/// Why an attempt failed.
enum Failed<E> {
    /// The server gave up one of several transactions that were in each other's way, and nothing of it is kept.
    BecauseOfOthers(E),
    ForGood(E),
}

impl<E: From<PgError> + Error + 'static> Failed<E> {
    /// Judged before it is converted, since what it becomes may not name it as its source.
    fn ours(error: PgError) -> Self {
        if is_because_of_others(&error) { Self::BecauseOfOthers(error.into()) } else { Self::ForGood(error.into()) }
    }

    fn of(error: E) -> Self {
        if is_because_of_others(&error) { Self::BecauseOfOthers(error) } else { Self::ForGood(error) }
    }
}

/// Whether an error, or one of its sources, is a serialization failure or a deadlock.
fn is_because_of_others(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |&error| error.source()).any(|error| {
        let code = if let Some(PgError::Database(error)) = error.downcast_ref() {
            error.sqlstate().map(str::to_owned)
        } else if let Some(error) = error.downcast_ref::<DatabaseError>() {
            error.sqlstate().map(str::to_owned)
        } else {
            let error = error.downcast_ref::<sqlx::Error>().and_then(sqlx::Error::as_database_error);
            error.and_then(|error| error.code()).map(std::borrow::Cow::into_owned)
        };
        code.is_some_and(|code| BECAUSE_OF_OTHERS.contains(&code.as_str()))
    })
}

/// Between 0 and 1. Without randomness the whole pause is as good.
fn random_share() -> f64 {
    getrandom::u32().map_or(1.0, |random| f64::from(random) / f64::from(u32::MAX))
}

/// `serialization_failure` and `deadlock_detected`. Not the rest of class 40: after `statement_completion_unknown`
/// nobody knows.
const BECAUSE_OF_OTHERS: [&str; 2] = ["40001", "40P01"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_are_drawn() {
        let options = RetryOptions::new().pause(Duration::from_millis(10), Duration::from_millis(60));
        for (attempts, longest) in [(1, 10), (2, 20), (3, 40), (4, 60), (5, 60), (u32::MAX, 60)] {
            let drawn: Vec<_> = (0..50).map(|_| options.drawn_pause(attempts)).collect();
            assert!(drawn.iter().all(|pause| *pause <= Duration::from_millis(longest)), "{attempts}: {drawn:?}");
            assert!(drawn.iter().any(|pause| *pause > Duration::from_millis(longest / 2)), "{attempts}: {drawn:?}");
            assert!(drawn.iter().any(|pause| *pause < Duration::from_millis(longest / 2)), "{attempts}: {drawn:?}");
        }
    }
}
