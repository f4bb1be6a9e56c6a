//! What is counted of the pool, by the words that [`Database`](crate::Database) lists.

use sqlx::Error;

use crate::redact::ends_the_session;

/// Why a connection was closed and not given to the next borrower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Its future was dropped, or its cleaning took too long, while the server owed an answer.
    Dropped,
    /// The network, the server or a pooler ended it.
    Lost,
    /// The server refused a batch of ours.
    Refused,
    /// The scope of its transaction was left.
    Breach,
    /// The proof of its cleanliness failed.
    Unclean,
    /// It was in other hands.
    HandedOut,
}

impl Cause {
    /// What an error says of the connection that it came from.
    pub(crate) fn of(error: &Error) -> Self {
        if ends_the_session(error) { Self::Lost } else { Self::Refused }
    }

    pub(crate) const fn event(self) -> &'static str {
        match self {
            Self::Dropped => "pool.closed.dropped",
            Self::Lost => "pool.closed.lost",
            Self::Refused => "pool.closed.refused",
            Self::Breach => "pool.closed.breach",
            Self::Unclean => "pool.closed.unclean",
            Self::HandedOut => "pool.closed.handed_out",
        }
    }
}

pub(crate) const CONNECTED: &str = "pool.connected";
/// Every connection was in use.
pub(crate) const WAITED: &str = "pool.waited";
/// None came free in time.
pub(crate) const TIMED_OUT: &str = "pool.timed_out";
/// A tenant found a connection where it is at home.
pub(crate) const CAME_BACK: &str = "pool.came_back";
/// A connection where one tenant is at home was taken for somebody else.
pub(crate) const MOVED_OUT: &str = "pool.moved_out";
/// An idle connection was closed for its age.
pub(crate) const EXPIRED: &str = "pool.expired";
