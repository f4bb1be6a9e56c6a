//! Gives each record its place: in the chain of its lane and in the chain of all that its writer wrote.

use std::collections::HashMap;

use uuid::Uuid;

use super::event::AuditEvent;
use super::lanes::Lane;
use super::line::{Line, Millis};
use super::record::AuditRecord;
use crate::id::RealmName;
use crate::keys::random_bytes;

/// The ends of all chains of one writer since its start.
///
/// Kept apart from the queues, which come and go: one small entry per life that was ever recorded since the start.
pub(super) struct Chains {
    realm: RealmName,
    writer: [u8; 8],
    boot: Uuid,
    all: Link,
    lanes: HashMap<Lane, Link>,
}

/// The end of a chain. The default is the end of an empty one.
#[derive(Clone, Copy, Default)]
struct Link {
    seq: u64,
    hash: [u8; 32],
}

impl Chains {
    pub(super) fn new(realm: &RealmName) -> Self {
        Self {
            realm: realm.clone(),
            writer: random_bytes(),
            boot: Uuid::new_v4(),
            all: Link::default(),
            lanes: HashMap::new(),
        }
    }

    /// Makes the event the next record. It must be written before any later one.
    pub(super) fn append(&mut self, lane: Lane, event: AuditEvent, count: u64) -> AuditRecord {
        let AuditEvent { life, everyone, actor, subject, store, action, outcome, rule, request, reason, at } = event;
        let link = self.lanes.entry(lane).or_default();
        let record = AuditRecord::seal(Line {
            realm: self.realm.as_str().to_owned(),
            lane: lane.to_string(),
            // A tenant must find in its listing whatever came through its lane.
            life: life.or_else(|| lane.life()),
            everyone,
            writer: self.writer,
            boot: self.boot,
            seq: link.seq + 1,
            prev: link.hash,
            global: self.all.seq + 1,
            global_prev: self.all.hash,
            count,
            actor: actor.map(|actor| actor.as_str().to_owned()),
            subject: subject.map(|subject| subject.as_str().to_owned()),
            store: store.map(|store| store.as_str().into()),
            action: action.into(),
            outcome,
            rule: rule.map(Into::into),
            request,
            reason,
            at: Millis::of(at),
            hash: [0; 32],
        });
        let hash = record.line().hash;
        *link = Link { seq: link.seq + 1, hash };
        self.all = Link { seq: self.all.seq + 1, hash };
        record
    }
}
