//! Corpora that every tenant of a realm may read, and no tenant may write: statutes, manuals, an encyclopaedia.
//!
//! A shared corpus is not a tenant that everybody belongs to. It has keys and a mark of its own, no context is ever made
//! for it, and what is found in it says where it comes from.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use uuid::Builder;
use zeroize::Zeroizing;

use crate::audit::{AuditEvent, Lane, Outcome};
use crate::corpus::CorpusVersion;
use crate::crossing::CrossingTrail;
use crate::denial::Denial;
use crate::encode::Fields;
use crate::gate::{CorpusWrite, Entered, Gate};
use crate::grant::CrossTenantGrant;
use crate::id::{CorpusName, Life};
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
        // Version 8, where a tenant's life is of version 4: no life is ever equal to it.
        let life = Life::of_corpus(Builder::from_custom_bytes(mark).into_uuid());
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
        Digest::new(*blake3::keyed_hash(&self.inner.names[P::INDEX], fields.as_bytes()).as_bytes())
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
/// A store asks [`check`](Self::check) before everything it does in the operator's name.
pub struct Publication<'g> {
    grant: &'g CrossTenantGrant,
    trail: CrossingTrail,
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
    /// [`GrantFault::Revoked`](crate::GrantFault::Revoked), and
    /// [`GrantFault::OutOfReach`](crate::GrantFault::OutOfReach) for a
    /// grant that was not opened for this corpus ([`Reach::Corpus`](crate::Reach::Corpus)); all recorded. And
    /// [`Denial::AuditUnavailable`]. Dropped: recorded as `cancelled`, or on record without having happened.
    pub async fn publish(&self, gate: &Gate, corpus: &Corpus, action: &'static str) -> Result<Publication<'_>, Denial> {
        let store = Some(gate.store());
        let event = AuditEvent { store, ..self.event(action, None, Outcome::Done) };
        let trail = CrossingTrail::new(Arc::clone(&self.realm), event.clone());
        trail
            .on_record(action, async {
                self.ensure_at(gate)?;
                corpus.ensure_realm(gate.realm_tag())?;
                self.ensure_for(corpus.name())
            })
            .await?;
        self.realm.auditor.durable(Lane::Operators, event).await?;
        Ok(Publication { grant: self, trail, corpus: corpus.clone() })
    }
}

impl Publication<'_> {
    /// How long it may still be used.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.grant.remaining()
    }

    /// The corpus.
    #[must_use]
    pub const fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// Whether it may be used now: the realm is open, and the grant is neither expired nor revoked.
    ///
    /// # Errors
    /// As [`CrossTenantGrant::publish`], and [`Denial::RealmClosed`]; recorded. Dropped: recorded as `cancelled`.
    pub async fn check(&self, action: &'static str) -> Result<(), Denial> {
        self.trail
            .on_record(action, async {
                self.corpus.inner.realm.ensure_open()?;
                self.grant.ensure()
            })
            .await
    }

    /// Announces a write to the corpus. From here until [`CorpusWrite::settle`] caches that took from it are bypassed.
    ///
    /// # Errors
    /// [`Denial::DirectoryUnavailable`]: do not write.
    pub async fn begin_write(&self) -> Result<CorpusWrite, Denial> {
        CorpusWrite::begin(Arc::clone(&self.corpus.inner.realm), self.corpus.life()).await
    }

    /// What records, for work that outlives the call.
    #[must_use]
    pub const fn trail(&self) -> &CrossingTrail {
        &self.trail
    }
}

impl fmt::Debug for Publication<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publication").field("corpus", &self.corpus).finish_non_exhaustive()
    }
}
