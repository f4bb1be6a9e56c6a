//! What a back end is asked. Built by this crate alone, from what a caller asked for; everything in it was checked.

mod evaluate;
mod expression;
mod read;
mod search;
mod write;

pub use expression::{Decay, Expression};
pub use read::{CountRequest, FacetRequest, Position, ScrollRequest};
pub use search::{Find, Order, OrderFrom, Pair, QueryRequest, Search, Strategy};
pub use write::{Selector, TaggedPoint, TaggedVectors, UpsertMode, Write, WriteRequest};
