//! What is counted instead of queued: repetitions within a second, and what finds no place.
//!
//! Both tables are bounded, and both keep counting while they wait for the writer, so that neither a flood nor a sink
//! that hangs makes them grow, and no event is lost from the sum of the counts.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::event::{AuditEvent, Outcome};

/// What makes two events equal: all of them but when and in which request.
pub(super) type Kind = Arc<AuditEvent>;

/// The kind of an event that may be counted: refusals and cancelled checks, which a caller can bring about at will. What
/// was accessed, changed or done stands singly.
pub(super) fn kind_of(event: &AuditEvent) -> Option<Kind> {
    match event.outcome {
        Outcome::Denied | Outcome::Cancelled => {
            Some(Arc::new(AuditEvent { request: None, at: SystemTime::UNIX_EPOCH, ..event.clone() }))
        }
        Outcome::Accessed
        | Outcome::Changed
        | Outcome::Done
        | Outcome::Failed
        | Outcome::Recovered
        | Outcome::Lifecycle => None,
    }
}

/// Kinds of events of one lane that are being watched for repetition.
#[derive(Default)]
pub(super) struct Windows {
    open: HashMap<Kind, Window>,
    /// Windows that are over and have something to say, the oldest first.
    due: VecDeque<(u64, Kind)>,
}

struct Window {
    until: Duration,
    more: u64,
    last: SystemTime,
    due: bool,
}

impl Windows {
    /// Counts a repetition. `false` when there is nothing that it repeats.
    pub(super) fn count(&mut self, kind: &Kind, at: SystemTime, now: Duration) -> bool {
        match self.open.get_mut(kind) {
            // A window that is over but has not been written yet counts on: there is a record of it to come anyway.
            Some(window) if now < window.until || window.more > 0 => {
                window.more += 1;
                window.last = window.last.max(at);
                true
            }
            Some(_) | None => false,
        }
    }

    /// Watches for repetitions of an event that is about to be queued. `None` when too many kinds are watched already.
    pub(super) fn open(&mut self, kind: &Kind, at: SystemTime, now: Duration, limit: usize) -> Option<Duration> {
        if self.open.len() >= limit && !self.open.contains_key(kind) {
            return None;
        }
        let until = now + WINDOW;
        self.open.insert(Arc::clone(kind), Window { until, more: 0, last: at, due: false });
        Some(until)
    }

    /// Ends the window of a kind, if its second is over. `true` when it has something to say that it had not before.
    pub(super) fn expire(&mut self, kind: &Kind, now: Duration, stamp: u64) -> bool {
        match self.open.get_mut(kind) {
            // A younger window of the same kind, or one that a flush made due already.
            Some(window) if now < window.until || window.due => false,
            Some(window) if window.more > 0 => {
                window.due = true;
                self.due.push_back((stamp, Arc::clone(kind)));
                true
            }
            Some(_) => {
                self.open.remove(kind);
                false
            }
            None => false,
        }
    }

    /// Makes everything counted so far due. `true` when that is anything.
    pub(super) fn make_due(&mut self, stamp: u64) -> bool {
        for (kind, window) in self.open.iter_mut().filter(|(_, window)| window.more > 0 && !window.due) {
            window.due = true;
            self.due.push_back((stamp, Arc::clone(kind)));
        }
        !self.due.is_empty()
    }

    /// The stamp of what is due the longest.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.due.front().map(|(stamp, _)| *stamp)
    }

    /// Takes what is due the longest: an event and how many it stands for.
    pub(super) fn take(&mut self) -> Option<(AuditEvent, u64)> {
        let (_, kind) = self.due.pop_front()?;
        let window = self.open.remove(&kind)?;
        Some((AuditEvent { at: window.last, ..AuditEvent::clone(&kind) }, window.more))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

/// Counts of what found no place in its lane: a fixed number of rows, and one more per outcome for the rest.
#[derive(Default)]
pub(super) struct Overflow {
    rows: VecDeque<Row>,
}

struct Row {
    stamp: u64,
    action: &'static str,
    rule: Option<&'static str>,
    outcome: Outcome,
    count: u64,
    last: SystemTime,
}

impl Overflow {
    pub(super) fn add(&mut self, event: &AuditEvent, stamp: u64) {
        if self.bump(event.action, event.rule, event) {
            return;
        }
        let full = self.rows.len() >= ROWS;
        let (action, rule) = if full { (OTHER, None) } else { (event.action, event.rule) };
        if full && self.bump(action, rule, event) {
            return;
        }
        self.rows.push_back(Row { stamp, action, rule, outcome: event.outcome, count: 1, last: event.at });
    }

    fn bump(&mut self, action: &'static str, rule: Option<&'static str>, event: &AuditEvent) -> bool {
        let wanted = (action, rule, event.outcome);
        match self.rows.iter_mut().find(|row| (row.action, row.rule, row.outcome) == wanted) {
            Some(row) => {
                row.count += 1;
                row.last = row.last.max(event.at);
                true
            }
            None => false,
        }
    }

    /// The stamp of the oldest count.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.rows.front().map(|row| row.stamp)
    }

    /// Takes the oldest count.
    pub(super) fn take(&mut self) -> Option<(AuditEvent, u64)> {
        let row = self.rows.pop_front()?;
        Some((AuditEvent { rule: row.rule, ..AuditEvent::new(row.action, row.outcome, row.last) }, row.count))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// How long equal events are counted in one record.
const WINDOW: Duration = Duration::from_secs(1);

/// Rows of an overflow before [`OTHER`]. Actions and rules are fixed words, so in practice they all fit.
const ROWS: usize = 32;

/// The action of what found no row.
const OTHER: &str = "other";
