//! Checking a log from the outside: line by line, with nothing but the file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use uuid::Uuid;

use super::record::AuditRecord;
use super::sink::AuditError;

/// What a check of a log found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Lines that hold a record.
    pub records: u64,
    /// Chains: one per lane, writer and boot.
    pub chains: u64,
    /// Events: the sum of the records' counts.
    pub events: u64,
    /// Where the log is not what was written, in the order of its lines.
    pub breaks: Vec<Break>,
    head: Option<Head>,
}

impl VerifyReport {
    /// Whether nothing was found. It does not say that the newest records are there: compare the [`head`](Self::head).
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.breaks.is_empty()
    }

    /// The last record of the log, to be compared with a head that was kept elsewhere. Only such a comparison finds that
    /// the newest records were removed, or that the whole file was written anew.
    #[must_use]
    pub const fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }
}

/// The end of a log at some time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Head {
    /// The writer, as [`AuditRecord::writer`].
    pub writer: String,
    /// Its start.
    pub boot: Uuid,
    /// The number of the record among all of the writer and boot.
    pub sequence: u64,
    /// The record's hash, 64 hex digits.
    pub hash: String,
}

/// A place where the log is not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Break {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub kind: BreakKind,
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BreakKind {
    /// Not a record as we write it.
    Unparsable,
    /// The last line has no end: the process stopped in the middle of it, or is writing it now.
    Torn,
    /// The content does not match the hash.
    Altered,
    /// Records before it are gone.
    Missing,
    /// It, or one before it, stands in the wrong place or is there twice.
    Reordered,
    /// The number is right and the record before it is another than it was.
    Unlinked,
}

/// Checks a log that a [`JsonlSink`](super::JsonlSink) wrote: that every line is a record as we write it and matches its
/// hash, and that numbers and links are whole in every chain, of each lane and of each writer.
///
/// # What it can't find
/// Hashes have no key, and starts of the log are not linked to each other. That the *newest* records of a start were
/// removed, or all of one start, or that the whole file was written anew, is found only by comparing the report's
/// [`head`](VerifyReport::head) with heads that were kept where the log's owner can't write.
///
/// Of a log that is being written, the last line may be [`Torn`](BreakKind::Torn). Blocks; memory grows with the number
/// of chains.
///
/// # Errors
/// [`AuditError::Io`] when the file can't be read. What is wrong in it is in the report.
pub fn verify_log(path: impl AsRef<Path>) -> Result<VerifyReport, AuditError> {
    let mut log = BufReader::new(File::open(path)?);
    let mut check = Check::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if log.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let kind = match line.strip_suffix(b"\n") {
            Some(line) => AuditRecord::parse_bytes(line).map_or(Some(BreakKind::Unparsable), |r| check.record(&r)),
            None => Some(BreakKind::Torn),
        };
        check.report.breaks.extend(kind.map(|kind| Break { line: number, kind }));
    }
    check.report.chains = check.lanes.len() as u64;
    Ok(check.report)
}

#[derive(Default)]
struct Check {
    report: VerifyReport,
    lanes: HashMap<(String, Writer), Link>,
    writers: HashMap<Writer, Link>,
}

/// A writer and its boot.
type Writer = ([u8; 8], Uuid);

/// The end of a chain as far as it was read.
#[derive(Clone, Copy, Default)]
struct Link {
    seq: u64,
    hash: [u8; 32],
}

impl Check {
    /// The worst that is wrong with a record. The check goes on from what the record says of itself, so that one change
    /// is not reported again at every line that follows.
    fn record(&mut self, record: &AuditRecord) -> Option<BreakKind> {
        let line = record.line();
        let writer = (line.writer, line.boot);
        self.report.records += 1;
        self.report.events = self.report.events.saturating_add(line.count);
        self.report.head =
            Some(Head { writer: record.writer(), boot: line.boot, sequence: line.global, hash: record.hash() });
        let all = self.writers.entry(writer).or_default().follow(line.global, line.global_prev, line.hash);
        let lane = self.lanes.entry((line.lane.clone(), writer)).or_default();
        let own = lane.follow(line.seq, line.prev, line.hash);
        if record.is_intact() { all.or(own) } else { Some(BreakKind::Altered) }
    }
}

impl Link {
    /// Goes on to the next record of a chain and says what is wrong with the step.
    fn follow(&mut self, seq: u64, prev: [u8; 32], hash: [u8; 32]) -> Option<BreakKind> {
        let before = std::mem::replace(self, Self { seq, hash });
        match seq.checked_sub(before.seq) {
            Some(1) if prev == before.hash => None,
            Some(1) => Some(BreakKind::Unlinked),
            Some(0) | None => Some(BreakKind::Reordered),
            Some(_) => Some(BreakKind::Missing),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::super::chain::Chains;
    use super::super::event::{AuditEvent, Outcome};
    use super::super::lanes::Lane;
    use super::*;
    use crate::id::{Life, RealmName};

    const LINES: usize = 50;

    /// A log of two starts, with several lanes in turn.
    fn log() -> Vec<String> {
        let realm = RealmName::parse("test").unwrap();
        let lanes = [Lane::Anonymous, Lane::Operators, Lane::Life(Life::random()), Lane::Life(Life::random())];
        let mut starts = [Chains::new(&realm), Chains::new(&realm)];
        (0..LINES)
            .map(|n| {
                let event = AuditEvent::new("query", Outcome::Changed, SystemTime::UNIX_EPOCH);
                starts[n / 30].append(lanes[n * n % 5 % 4], event, 1 + n as u64 % 2).to_json()
            })
            .collect()
    }

    fn check(lines: &[String]) -> VerifyReport {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        verify_log(file.path()).unwrap()
    }

    fn first_break(lines: &[String]) -> Option<(usize, BreakKind)> {
        check(lines).breaks.first().map(|found| (found.line as usize - 1, found.kind))
    }

    #[test]
    fn an_untouched_log_is_clean() {
        let report = check(&log());
        assert!(report.is_clean(), "{report:?}");
        assert_eq!((report.records, report.events), (50, 75));
        assert_eq!(report.head().unwrap().sequence, 20);
    }

    #[test]
    fn one_altered_line_is_found_wherever_it_is() {
        for at in 0..LINES {
            let mut lines = log();
            lines[at] = lines[at].replace("\"changed\"", "\"accessed\"");
            assert_eq!(first_break(&lines), Some((at, BreakKind::Altered)));
            assert_eq!(check(&lines).breaks.len(), 1, "one change is one break");
        }
    }

    #[test]
    fn one_line_with_its_hash_made_anew_is_found_by_the_next() {
        for at in 0..LINES {
            let mut lines = log();
            let mut line = AuditRecord::parse(&lines[at]).unwrap().line().clone();
            line.outcome = Outcome::Accessed;
            lines[at] = AuditRecord::seal(line).to_json();
            // The last of each start has no next: that is what an outside head is for.
            match at {
                29 | 49 => assert_ne!(check(&lines[..=at]).head(), check(&log()[..=at]).head()),
                _ => assert_eq!(first_break(&lines), Some((at + 1, BreakKind::Unlinked))),
            }
        }
    }

    #[test]
    fn one_missing_line_is_found_wherever_it_was() {
        for at in 0..LINES {
            let mut lines = log();
            lines.remove(at);
            match at {
                29 | 49 => {
                    assert!(first_break(&lines).is_none(), "the newest of a start: a head kept outside shows it")
                }
                _ => assert_eq!(first_break(&lines), Some((at, BreakKind::Missing))),
            }
        }
    }

    #[test]
    fn a_moved_and_a_doubled_line_are_found_wherever_they_are() {
        for at in 0..LINES - 1 {
            let mut lines = log();
            lines.swap(at, at + 1);
            // Whole starts are not linked to each other; their lines are.
            if at != 29 {
                assert!(first_break(&lines).is_some(), "swapped at {at}");
            }
            let mut lines = log();
            lines.insert(at, lines[at].clone());
            assert_eq!(first_break(&lines), Some((at + 1, BreakKind::Reordered)));
        }
    }

    #[test]
    fn a_line_of_something_else_and_a_torn_one_are_found() {
        let mut lines = log();
        lines.insert(7, "{}".to_owned());
        assert_eq!(first_break(&lines), Some((7, BreakKind::Unparsable)));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, lines[0].as_bytes()).unwrap();
        let report = verify_log(file.path()).unwrap();
        assert_eq!(report.breaks, [Break { line: 1, kind: BreakKind::Torn }]);
    }
}
