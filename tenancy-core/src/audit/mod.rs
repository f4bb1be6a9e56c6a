//! The audit log: who did what to whose data, in chains that show what was changed.
//!
//! # How a record comes about
//! A check reserves the place of its record *before* it begins, so there is no denial that could not be written down:
//! no place, no check ([`Denial::AuditUnavailable`](crate::Denial::AuditUnavailable)). Each tenant has a lane of its own,
//! operators have one and the unidentified share one; one thread takes turns between them and writes each round with
//! one `fsync`. A flood in one lane therefore costs another lane one round at most.
//!
//! A call does not wait for its record, but where it says so: an exit, an operator's act. Accesses, of which nearly each
//! request leaves one, gather for five milliseconds and share a round; everything else is written at once.
//!
//! Denials that are equal within a second are counted instead of queued, and so is what comes when a lane is full. A
//! record says how many it stands for ([`AuditRecord::count`]); the sum of the counts is the number of events.
//!
//! # What the chains show
//! Each record carries the hash of its predecessor twice: of its lane, and of its writer. [`verify_log`] finds a record
//! that was altered, removed or moved. It can't find that the *newest* records were removed, or that the whole file was
//! written anew: that takes a [head](VerifyReport::head) kept where the log's owner can't write.
//!
//! # What is not in it
//! Content. A record holds names of subjects, fixed words, ids, an operator's reason and why a store could not erase;
//! no prompt, document, statement or text of a driver.

mod auditor;
mod chain;
mod counting;
mod event;
mod jsonl;
mod lanes;
mod line;
mod reader;
mod record;
mod settings;
mod sink;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

pub use event::{AuditEvent, Outcome};
pub use jsonl::JsonlSink;
pub use record::AuditRecord;
pub use settings::AuditSettings;
pub use sink::{AuditBatch, AuditError, AuditSink, MemorySink, Recovered};
pub use verify::{Break, BreakKind, Head, VerifyReport, verify_log};

pub(crate) use auditor::{Auditor, Slot};
pub(crate) use lanes::Lane;
