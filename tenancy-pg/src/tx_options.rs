//! How a transaction begins.

use std::time::Duration;

use crate::scope::Access;
use crate::seeds::millis;
use crate::tx_settings::TxSettings;

/// How a transaction begins, for [`TenantDb::begin_with`](crate::TenantDb::begin_with).
///
/// Whatever is not named is as every session starts: read committed, may write, the time-outs of
/// [`PgOptions`](crate::PgOptions). All of it is part of the one batch that opens the scope: after that the server
/// refuses to change it, and the guard refuses `SET TRANSACTION`.
///
/// ```no_run
/// # async fn run(db: &tenancy_pg::TenantDb) -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
///
/// use tenancy_pg::{Isolation, TxOptions};
///
/// let options = TxOptions::new().isolation(Isolation::Serializable).lock_timeout(Duration::from_millis(200));
/// let mut tx = db.begin_with(options).await?;
/// sqlx::query("update note set body = $1 where id = $2").bind("new").bind(7).execute(&mut tx).await?;
/// tx.commit().await?; // SQLSTATE 40001: begin again
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct TxOptions {
    access: Access,
    isolation: Option<Isolation>,
    deferrable: bool,
    lock_timeout: Option<Duration>,
    statement_timeout: Option<Duration>,
    settings: TxSettings,
}

/// What a transaction sees of others that run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isolation {
    /// Each statement sees what was committed before it. The default.
    ReadCommitted,
    /// Every statement sees what was committed before the first.
    RepeatableRead,
    /// As if transactions ran one after the other; otherwise SQLSTATE 40001.
    Serializable,
}

impl TxOptions {
    /// As [`TenantDb::begin`](crate::TenantDb::begin).
    pub const fn new() -> Self {
        Self {
            access: Access::ReadWrite,
            isolation: None,
            deferrable: false,
            lock_timeout: None,
            statement_timeout: None,
            settings: TxSettings::new(),
        }
    }

    /// It can't write, as [`TenantDb::read`](crate::TenantDb::read).
    pub const fn read_only(mut self) -> Self {
        self.access = Access::ReadOnly;
        self
    }

    /// What it sees of others.
    pub const fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = Some(isolation);
        self
    }

    /// A serializable transaction that only reads: it waits, when it begins, until it can neither fail nor disturb
    /// others. Sets all three; the server knows no other use of it.
    pub const fn deferrable(mut self) -> Self {
        self.access = Access::ReadOnly;
        self.isolation = Some(Isolation::Serializable);
        self.deferrable = true;
        self
    }

    /// The longest to wait for a lock, at least a millisecond; SQLSTATE 55P03 after that.
    pub const fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = Some(timeout);
        self
    }

    /// The longest that a statement may run, at least a millisecond; SQLSTATE 57014 after that. It never lengthens what
    /// the context's deadline leaves.
    pub const fn statement_timeout(mut self, timeout: Duration) -> Self {
        self.statement_timeout = Some(timeout);
        self
    }

    /// Its own work memory, search effort and the like.
    pub const fn settings(mut self, settings: TxSettings) -> Self {
        self.settings = settings;
        self
    }

    pub(crate) const fn access(self) -> Access {
        self.access
    }

    /// For a caller with so much time left; `shortened` is what that makes of a time-out that is not named.
    pub(crate) fn within(mut self, left: Duration, shortened: Option<Duration>) -> Self {
        self.statement_timeout = self.statement_timeout.map_or(shortened, |named| Some(named.min(left)));
        self
    }

    pub(crate) fn begin(self) -> String {
        let isolation = self.isolation.map_or("", Isolation::sql);
        let access = match self.access {
            Access::ReadWrite => "",
            Access::ReadOnly => " read only",
        };
        let deferrable = if self.deferrable { " deferrable" } else { "" };
        format!("begin{isolation}{access}{deferrable}")
    }

    /// The time-outs and settings that are not as in every session, each with its semicolon.
    pub(crate) fn locally(self) -> String {
        let named = [("lock_timeout", self.lock_timeout), ("statement_timeout", self.statement_timeout)];
        let mut sql = String::new();
        for (name, timeout) in named {
            if let Some(timeout) = timeout {
                // Zero would mean no limit.
                sql += &format!("set local {name} = {}; ", millis(timeout.max(Duration::from_millis(1))));
            }
        }
        sql + &self.settings.sql()
    }
}

impl Default for TxOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl Isolation {
    const fn sql(self) -> &'static str {
        match self {
            Self::ReadCommitted => " isolation level read committed",
            Self::RepeatableRead => " isolation level repeatable read",
            Self::Serializable => " isolation level serializable",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_is_not_sent() {
        let (plain, second) = (TxOptions::new(), Duration::from_secs(1));
        assert_eq!((plain.begin().as_str(), plain.locally().as_str()), ("begin", ""));
        assert_eq!(plain.read_only().begin(), "begin read only");
        assert_eq!(plain.deferrable().begin(), "begin isolation level serializable read only deferrable");
        assert_eq!(plain.isolation(Isolation::RepeatableRead).begin(), "begin isolation level repeatable read");
        assert_eq!(plain.lock_timeout(Duration::ZERO).locally(), "set local lock_timeout = 1; ");
        assert_eq!(plain.within(second, None), plain, "there is time enough");
        assert_eq!(plain.within(second, Some(second)).locally(), "set local statement_timeout = 1000; ");
        let longer = plain.statement_timeout(second * 60);
        assert_eq!(longer.within(second, None).locally(), "set local statement_timeout = 1000; ", "never beyond");
        assert_eq!(longer.within(second * 90, Some(second * 90)), longer);
    }
}
