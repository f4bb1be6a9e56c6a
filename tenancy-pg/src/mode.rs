//! How a tenant comes by a connection.

/// How a tenant comes by a connection. Each may be signed as well, see [`PgOptions::signed`](crate::PgOptions::signed).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// The scope is set for each transaction, on any connection. Right behind every pooler.
    #[default]
    Local,
    /// Idle connections are kept for the tenant that used them last.
    ///
    /// A `SELECT`, `TABLE` or `VALUES` on [`&TenantDb`](crate::TenantDb) then takes one round-trip where such a
    /// connection lies idle, without a transaction of its own, so what comes back is checked after its answer and not
    /// before it, and what such a statement writes through a function is not recorded as a change. Everything else runs
    /// in a transaction as in `Local`. What is checked is what outlives the statement: a function that sets the row key for
    /// its own call only, and reads, is found out by the end of a transaction and not here. Between two statements of its
    /// tenant a connection's settings, cursors, locks and `LISTEN` are undone; temporary objects and prepared statements
    /// are looked for when another tenant moves in. It may have died meanwhile, as any idle connection without a ping:
    /// then a statement fails that finds out.
    ///
    /// Needs sessions: refused behind a transaction pooler. A signed scope keeps connections too, and its round-trips.
    Sticky,
}
