//! Corpora that every tenant of a realm may read, and no tenant may write: statutes, manuals, an encyclopaedia.
//!
//! A shared corpus is not a tenant that everybody belongs to. It has keys and a mark of its own, no context is ever made
//! for it, and what is found in it says where it comes from.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::audit::{AuditEvent, Lane, Outcome, Slot};
use crate::corpus::CorpusVersion;
use crate::crossing::CrossingTrail;
use crate::denial::Denial;
use crate::encode::Fields;
use crate::gate::{CorpusWrite, Entered, Gate};
use crate::grant::CrossTenantGrant;
use crate::id::{CorpusName, Life};
use crate::metrics::Metric;
use crate::names::Names;
use crate::purpose::{DATA_LABELS, DataPurpose, Digest, RealmPurpose};
use crate::realm::{Realm, RealmShared, RealmTag};

/// A shared corpus of a realm: whose its documents are, and the keys of their names. Cheap to clone; the same in every
/// process of a deployment.
///
/// Holding one opens nothing: it is read with a context and written with a grant for it.
#[derive(Clone)]
pub struct Corpus {
    inner: Arc<Inner>,
}

struct Inner {
    realm: Arc<RealmShared>,
    name: CorpusName,
    life: Life,
    names: Vec<Zeroizing<[u8; 32]>>,
}

impl Realm {
    /// A corpus that all tenants of this realm may read. It needs no registration: a name makes it.
    #[must_use]
    pub fn corpus(&self, name: &CorpusName) -> Corpus {
        let realm = Arc::clone(self.shared());
        let mut fields = Fields::new();
        fields.text(1, name.as_str());
        let root = blake3::keyed_hash(realm.keys.get(RealmPurpose::Corpus), fields.as_bytes());
        let key = |label: &str| Zeroizing::new(blake3::derive_key(label, root.as_bytes()));
        let mut mark = [0; 16];
        mark.copy_from_slice(&key("tenancy 2026-11-29 corpus mark v1")[..16]);
        let names = DATA_LABELS.iter().map(|label| key(label)).collect();
        let life = Life::of_corpus(mark);
        Corpus { inner: Arc::new(Inner { realm, name: name.clone(), life, names }) }
    }
}

impl Corpus {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &CorpusName {
        &self.inner.name
    }

    /// What stores keep in the place of a tenant's life. Nobody's context has it.
    #[must_use]
    pub fn life(&self) -> Life {
        self.inner.life
    }

    /// The realm.
    #[must_use]
    pub fn realm(&self) -> RealmTag {
        self.inner.realm.tag
    }

    /// Derives a name of data for one purpose: 32 bytes that no tenant and no other corpus has for the same fields.
    #[must_use]
    pub fn derive<P: DataPurpose>(&self, fields: &Fields) -> Digest<P> {
        self.names().derive(fields)
    }

    /// Derives many names of data for one purpose.
    #[must_use]
    pub fn names<P: DataPurpose>(&self) -> Names<'_, P> {
        Names::new(&self.inner.names[P::INDEX])
    }

    fn ensure_realm(&self, realm: RealmTag) -> Result<(), Denial> {
        if self.inner.realm.tag == realm { Ok(()) } else { Err(Denial::ForeignRealm) }
    }
}

/// Two are equal when they are the same corpus of the same realm.
impl PartialEq for Corpus {
    fn eq(&self, other: &Self) -> bool {
        self.realm() == other.realm() && self.life() == other.life()
    }
}

impl Eq for Corpus {}

impl Hash for Corpus {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.life().hash(state);
    }
}

impl fmt::Debug for Corpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Corpus({})", self.inner.name)
    }
}

impl Entered<'_> {
    /// The version of a shared corpus, for a key that must change when its documents do. `None` while a write is under
    /// way: bypass the cache then.
    ///
    /// # Errors
    /// [`Denial::ForeignRealm`]; [`Denial::DirectoryUnavailable`] when the versions can't be read: bypass the cache then
    /// too.
    pub async fn version_of(&self, corpus: &Corpus) -> Result<Option<CorpusVersion>, Denial> {
        corpus.ensure_realm(self.context().realm())?;
        corpus.inner.realm.version(corpus.life()).await
    }
}

/// A use of a grant to change a shared corpus, on record. Made by [`CrossTenantGrant::publish`] only; it borrows the
/// grant, so it ends with it.
///
/// Every change begins with [`begin`](Self::begin).
pub struct Publication<'g> {
    grant: &'g CrossTenantGrant,
    event: AuditEvent,
    corpus: Corpus,
}

impl CrossTenantGrant {
    /// Lets the grant through to a store of a shared corpus, for as many changes as it lives.
    ///
    /// # Cross-tenant access
    /// What is written there is read by every tenant of the realm. One record, with the operator, the reason and the
    /// case, is durable in the operators' chain before this returns, and every tenant lists it.
    ///
    /// # Errors
    /// [`Denial::ForeignRealm`], [`GrantFault::Expired`](crate::GrantFault::Expired),
    /// [`GrantFault::Revoked`](crate::GrantFault::Revoked), and [`GrantFault::OutOfReach`](crate::GrantFault::OutOfReach)
    /// for a grant that was not opened for this corpus ([`Reach::Corpus`](crate::Reach::Corpus)); all recorded. And
    /// [`Denial::AuditUnavailable`]. Dropped: recorded as `cancelled`, or on record without having happened.
    pub async fn publish(&self, gate: &Gate, corpus: &Corpus, action: &'static str) -> Result<Publication<'_>, Denial> {
        let store = Some(gate.store());
        let event = AuditEvent { store, ..self.event(action, None, Outcome::Done) };
        let trail = CrossingTrail::new(Arc::clone(&self.realm), event.clone());
        let allowed = async {
            self.ensure_at(gate)?;
            corpus.ensure_realm(gate.realm_tag())?;
            self.ensure_for(corpus.name())
        };
        trail.on_record(action, allowed).await?;
        self.realm.auditor.durable(Lane::Operators, event.clone()).await?;
        Ok(Publication { grant: self, event, corpus: corpus.clone() })
    }
}

impl Publication<'_> {
    /// The corpus.
    #[must_use]
    pub const fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// Begins one change of the corpus: reserves the place of its record, asks whether the grant may still be used,
    /// announces the write, and asks again. From here until it ends, caches that took from the corpus are bypassed.
    ///
    /// Dropped before it answers: recorded as `cancelled`, and caches are bypassed until the lease of the write runs out.
    ///
    /// # Errors
    /// [`Denial::RealmClosed`]; [`GrantFault::Expired`](crate::GrantFault::Expired),
    /// [`GrantFault::Revoked`](crate::GrantFault::Revoked) and [`Denial::DirectoryUnavailable`], when the write can't be
    /// announced, recorded; [`Denial::AuditUnavailable`].
    pub async fn begin(&self, action: &'static str) -> Result<CorpusChange, Denial> {
        let realm = &self.corpus.inner.realm;
        realm.ensure_open()?;
        let slot = Some(realm.auditor.reserve(Lane::Operators).await?);
        let event = AuditEvent { action, ..self.event.clone() };
        let mut change = CorpusChange { realm: Arc::clone(realm), event, slot, write: None };
        let begun = async {
            self.grant.ensure()?;
            change.write = Some(CorpusWrite::begin(Arc::clone(realm), self.corpus.life()).await?);
            self.grant.ensure()
        };
        match begun.await {
            Ok(()) => Ok(change),
            Err(denial) => {
                realm.recorder.count(Metric::Denied { rule: denial.rule() });
                // What can't be settled runs out by itself; the denial is what matters.
                let _settled = change.end(Outcome::Denied, Some(denial.rule())).await;
                Err(denial)
            }
        }
    }
}

/// One change of a shared corpus in progress. It borrows nothing, for work that outlives the call. Ends with one of its
/// methods, or as `cancelled` when dropped.
#[must_use = "a change that is dropped is recorded as cancelled"]
pub struct CorpusChange {
    realm: Arc<RealmShared>,
    event: AuditEvent,
    slot: Option<Slot>,
    write: Option<CorpusWrite>,
}

impl CorpusChange {
    /// Ends it: documents were changed. From here on they have a new version.
    ///
    /// # Errors
    /// [`Denial::DirectoryUnavailable`]: the change is on record, and caches stay bypassed until the lease of the write
    /// runs out.
    pub async fn changed(self) -> Result<(), Denial> {
        self.end(Outcome::Changed, None).await
    }

    /// Ends it: it failed, and may have changed a part. The documents have a new version.
    ///
    /// # Errors
    /// As [`changed`](Self::changed).
    pub async fn failed(self) -> Result<(), Denial> {
        self.end(Outcome::Failed, None).await
    }

    async fn end(mut self, outcome: Outcome, rule: Option<&'static str>) -> Result<(), Denial> {
        self.record(outcome, rule);
        match self.write.take() {
            Some(write) => write.settle().await,
            None => Ok(()),
        }
    }

    fn record(&mut self, outcome: Outcome, rule: Option<&'static str>) {
        if let Some(slot) = self.slot.take() {
            slot.settle(AuditEvent { outcome, rule, at: self.realm.clock.now(), ..self.event.clone() });
        }
    }
}

impl Drop for CorpusChange {
    fn drop(&mut self) {
        self.record(Outcome::Cancelled, None);
    }
}

impl fmt::Debug for CorpusChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CorpusChange")
    }
}

impl fmt::Debug for Publication<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publication").field("corpus", &self.corpus).finish_non_exhaustive()
    }
}
