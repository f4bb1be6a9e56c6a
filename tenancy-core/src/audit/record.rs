//! One record with its place in two chains and its hash: what sinks keep and listings show.

use std::fmt;
use std::time::SystemTime;

use uuid::Uuid;

use super::event::Outcome;
use super::line::Line;
use super::sink::AuditError;
use crate::id::{Life, RequestId};

/// An event as it stands in the log: with its count, its place in the chains, and its hash.
///
/// `Debug` shows neither who acted nor why. Not `Serialize`: [`sequence`](Self::sequence) counts every tenant's records,
/// so a whole record is the operator's, and what a tenant is shown of its own is picked field by field.
#[derive(Clone, PartialEq, Eq)]
pub struct AuditRecord {
    line: Line,
}

impl AuditRecord {
    /// Completes a line by its hash.
    pub(super) fn seal(mut line: Line) -> Self {
        line.hash = line.digest();
        Self { line }
    }

    pub(super) const fn line(&self) -> &Line {
        &self.line
    }

    /// Whether the content matches the hash.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.line.hash == self.line.digest()
    }

    /// The record as one line of JSON, without the line feed. A sink that keeps it as text gets it back by
    /// [`parse`](Self::parse); one that normalises JSON (`jsonb`) must keep the text beside it.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Texts, numbers and truth values: nothing in a line has no form in JSON, and memory doesn't fail to be written.
        #[expect(clippy::expect_used, reason = "a line always has a form in JSON")]
        serde_json::to_string(&self.line).expect("a line of plain fields")
    }

    /// Reads a line that [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    /// [`AuditError::Malformed`] for anything that is not byte for byte what we write: fields missing, added, doubled
    /// or in another order, spaces, another form of a time. Whether the content is what it was says
    /// [`is_intact`](Self::is_intact).
    pub fn parse(line: &str) -> Result<Self, AuditError> {
        Self::parse_bytes(line.as_bytes())
    }

    pub(super) fn parse_bytes(bytes: &[u8]) -> Result<Self, AuditError> {
        let line = serde_json::from_slice(bytes).map_err(|_| AuditError::Malformed)?;
        let record = Self { line };
        // What a parser lets pass unseen (an absent `null`, a space) can't differ once it is written again.
        if record.to_json().as_bytes() == bytes { Ok(record) } else { Err(AuditError::Malformed) }
    }

    /// The realm.
    #[must_use]
    pub fn realm(&self) -> &str {
        &self.line.realm
    }

    /// The life it is about.
    #[must_use]
    pub const fn life(&self) -> Option<Life> {
        self.line.life
    }

    /// Whether it is an operator's act that reaches every tenant.
    #[must_use]
    pub const fn everyone(&self) -> bool {
        self.line.everyone
    }

    /// How many events it stands for; at least 1.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.line.count
    }

    /// Who acted.
    #[must_use]
    pub fn actor(&self) -> Option<&str> {
        self.line.actor.as_deref()
    }

    /// On whose behalf.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.line.subject.as_deref()
    }

    /// The store it touched.
    #[must_use]
    pub fn store(&self) -> Option<&str> {
        self.line.store.as_deref()
    }

    /// What was done or tried. `other` for what was counted when even the counters were full.
    #[must_use]
    pub fn action(&self) -> &str {
        &self.line.action
    }

    /// What came of it.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        self.line.outcome
    }

    /// The rule of the denial.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        self.line.rule.as_deref()
    }

    /// The request it belongs to; `None` for a count, whose events may belong to several.
    #[must_use]
    pub const fn request(&self) -> Option<RequestId> {
        self.line.request
    }

    /// The reason that a person gave, or a store that could not erase.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.line.reason.as_deref()
    }

    /// Wall time in milliseconds; for a count, of the last event.
    #[must_use]
    pub fn at(&self) -> SystemTime {
        self.line.at.time()
    }

    /// Which writer wrote it: 16 hex digits, random per realm and process.
    #[must_use]
    pub fn writer(&self) -> String {
        data_encoding::HEXLOWER.encode(&self.line.writer)
    }

    /// Which start of the writer.
    #[must_use]
    pub const fn boot(&self) -> Uuid {
        self.line.boot
    }

    /// Its number among all records of its writer and boot, from 1. For operators: it grows with everybody's activity.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.line.global
    }

    /// Its hash as 64 hex digits.
    #[must_use]
    pub fn hash(&self) -> String {
        data_encoding::HEXLOWER.encode(&self.line.hash)
    }
}

impl fmt::Debug for AuditRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditRecord")
            .field("sequence", &self.line.global)
            .field("life", &self.line.life)
            .field("count", &self.line.count)
            .field("store", &self.line.store)
            .field("action", &self.line.action)
            .field("outcome", &self.line.outcome)
            .field("rule", &self.line.rule)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::chain::Chains;
    use super::super::event::AuditEvent;
    use super::super::lanes::Lane;
    use super::*;
    use crate::id::{RealmName, StoreName, SubjectId};

    fn record() -> AuditRecord {
        let at = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789);
        let event = AuditEvent {
            actor: Some(SubjectId::parse("ann \"\\ ü").unwrap()),
            store: Some(StoreName::new("postgres")),
            rule: Some("scope.not_visible"),
            request: Some(RequestId::random()),
            reason: Some("line\nbreak\u{2028}".to_owned()),
            ..AuditEvent::new("query", Outcome::Denied, at)
        };
        Chains::new(&RealmName::parse("test").unwrap()).append(Lane::Life(Life::random()), event, 3)
    }

    #[test]
    fn a_line_is_read_back_as_it_was_and_in_no_other_form() {
        let record = record();
        let line = record.to_json();
        assert!(!line.contains('\n'));
        assert!(line.contains("\"at\":\"2023-11-14T22:13:20.123Z\""), "{line}");
        assert_eq!(AuditRecord::parse(&line).unwrap(), record);
        assert!(record.is_intact());
        for other in [
            line.replace(",\"life\"", ", \"life\""),
            line.replace("\"subject\":null,", ""),
            line.replace("\"count\":3", "\"count\":3,\"extra\":1"),
            line.replace("\"count\":3", "\"count\":3,\"count\":3"),
            line.replace(".123Z", ".123000Z"),
        ] {
            assert_ne!(other, line);
            assert!(matches!(AuditRecord::parse(&other), Err(AuditError::Malformed)), "{other}");
        }
    }

    #[test]
    fn every_byte_of_a_line_is_covered() {
        let line = record().to_json();
        for at in 0..line.len() {
            let mut altered = line.clone().into_bytes();
            altered[at] = if altered[at] == b'1' { b'2' } else { b'1' };
            if let Ok(record) = AuditRecord::parse_bytes(&altered) {
                assert!(!record.is_intact(), "byte {at} of {line}");
            }
        }
    }

    #[test]
    fn times_without_a_written_form_become_the_nearest() {
        for time in
            [SystemTime::UNIX_EPOCH - Duration::from_secs(9), SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 40)]
        {
            let event = AuditEvent::new("query", Outcome::Done, time);
            let record = Chains::new(&RealmName::parse("test").unwrap()).append(Lane::Anonymous, event, 1);
            assert_eq!(AuditRecord::parse(&record.to_json()).unwrap(), record);
        }
    }

    #[test]
    fn debug_tells_nobody_who_or_why() {
        let shown = format!("{:?}", record());
        assert!(!shown.contains("ann") && !shown.contains("break"), "{shown}");
    }
}
