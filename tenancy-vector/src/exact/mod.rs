//! What queries, filters and changes come to, worked out point by point in this process.
//!
//! The plain back end answers everything with it, and it is what others are compared with. A back end whose engine can't
//! tell hands it the points that might be meant.

mod change;
mod compare;
mod judge;
mod search;
mod values;

pub(crate) use change::{delete_payload, set_payload};
#[cfg(feature = "pgvector")]
pub(crate) use compare::Rarity;
pub(crate) use compare::normalize;
pub(crate) use judge::meets;
pub(crate) use search::{Corpus, ordered, search};
pub(crate) use values::count_values;
