//! One step of a migration.

use std::fmt;

/// Statements that belong together, what takes them back, and what a reviewer wants to know of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// Why it is there, in a sentence.
    pub reason: String,
    /// The statements.
    pub up: String,
    /// What brings the catalog back as it was.
    pub down: String,
    /// How it runs.
    pub run: Run,
    /// What others wait for meanwhile, and how long.
    pub locks: Locks,
}

/// How a step runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Run {
    /// In a transaction.
    InTransaction,
    /// By itself and outside any transaction, which Postgres demands of `CREATE INDEX CONCURRENTLY`.
    Alone,
    /// Again and again for some pages of the table, each time in a transaction of its own, until no row is left: `$1` is
    /// where the pages begin and `$2` where they end, as `(page,0)`.
    InBatches {
        /// Counts the rows that are left: the progress.
        left: String,
        /// Counts the pages of the table.
        pages: String,
    },
}

/// The strongest lock that a step takes, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Locks {
    /// `ACCESS EXCLUSIVE` on the table, for a change of the catalog that looks at no row: readers and writers wait for
    /// that instant.
    Instant,
    /// `SHARE ROW EXCLUSIVE` on the table and the one it refers to, for a change of the catalog: writers wait for that
    /// instant.
    InstantForWriters,
    /// `SHARE UPDATE EXCLUSIVE`, for a scan of the table: readers and writers go on.
    Nobody,
    /// `ROW EXCLUSIVE` and the rows of one batch: who writes one of these rows waits for that batch.
    Rows,
    /// `ACCESS EXCLUSIVE` on the table for a scan or a rewrite of it: everybody waits.
    Scan,
    /// No table's.
    Catalog,
}

impl Locks {
    /// The mode's name in `pg_locks`; `None` where no table is locked.
    #[must_use]
    pub const fn mode(self) -> Option<&'static str> {
        match self {
            Self::Instant | Self::Scan => Some("AccessExclusiveLock"),
            Self::InstantForWriters => Some("ShareRowExclusiveLock"),
            Self::Nobody => Some("ShareUpdateExclusiveLock"),
            Self::Rows => Some("RowExclusiveLock"),
            Self::Catalog => None,
        }
    }
}

/// For a comment in a migration and for an operator.
impl fmt::Display for Locks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Instant => "readers and writers wait for an instant (ACCESS EXCLUSIVE, no row is looked at)",
            Self::InstantForWriters => "writers wait for an instant (SHARE ROW EXCLUSIVE, no row is looked at)",
            Self::Nobody => "nobody waits (SHARE UPDATE EXCLUSIVE while the table is scanned)",
            Self::Rows => "writers of the rows in hand wait for one batch (ROW EXCLUSIVE)",
            Self::Scan => "everybody waits while the table is scanned (ACCESS EXCLUSIVE)",
            Self::Catalog => "no table is locked",
        })
    }
}

impl Step {
    pub(super) fn new(locks: Locks, reason: impl Into<String>, up: String, down: String) -> Self {
        Self { reason: reason.into(), up, down, run: Run::InTransaction, locks }
    }

    pub(super) fn alone(mut self) -> Self {
        self.run = Run::Alone;
        self
    }
}
