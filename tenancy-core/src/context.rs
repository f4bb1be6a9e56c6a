//! The tenant context: proof that a credential was verified, and the handle on everything that is the tenant's.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use smallvec::SmallVec;
use zeroize::Zeroizing;

use crate::audit::{AuditEvent, AuditRecord, Lane, Outcome};
use crate::denial::{Denial, SealFault};
use crate::directory::TenantRecord;
use crate::encode::Fields;
use crate::fence::{Fence, FenceSlot};
use crate::id::{Life, RequestId, StoreName, SubjectId, TenantId};
use crate::keys::LifeKeys;
use crate::metrics::Metric;
use crate::names::Names;
use crate::permission::{Authorized, Permission, PermissionSet, ReadAudit};
use crate::purpose::{Cursor, DataPurpose, Digest, SealPurpose};
use crate::realm::{RealmShared, RealmTag};
use crate::scoped::Scoped;
use crate::seal::{Seal, Sealed};
use crate::ticket::{JobKind, JobTicket};

/// Who is asking, for which tenant, until when. Immutable, cheap to clone, `Send + Sync + 'static`.
///
/// Only [`Realm::authenticate`](crate::Realm::authenticate) and its two steps, and a worker opening a job ticket, make
/// one. There is no other constructor, no `Default`, no `From` and no `Deserialize`. It can't travel in a queue either:
/// use a [`JobTicket`].
///
/// Every use checks its deadline and the tenant's standing, so a context that was handed out before a suspension stops
/// within the fence's bound.
#[derive(Clone)]
pub struct TenantContext {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) realm: Arc<RealmShared>,
    pub(crate) record: Arc<TenantRecord>,
    pub(crate) who: Who,
    pub(crate) permissions: PermissionSet,
    pub(crate) deadline: Duration,
    /// For a job: when its ticket expires. What is enqueued inside must not outlive it.
    pub(crate) ticket_expiry: Option<SystemTime>,
    pub(crate) request: RequestId,
    pub(crate) keys: Arc<LifeKeys>,
    pub(crate) fence: Arc<FenceSlot>,
    pub(crate) accessed: Mutex<SmallVec<[StoreName; 4]>>,
}

/// The verified parties of a context.
#[derive(Clone)]
pub(crate) struct Who {
    pub(crate) issuer: Arc<str>,
    pub(crate) subject: SubjectId,
    pub(crate) actor: Option<SubjectId>,
    /// Verified roles, sorted.
    pub(crate) roles: Arc<[Arc<str>]>,
}

impl TenantContext {
    pub(crate) fn new(inner: Inner) -> Self {
        Self { inner: Arc::new(inner) }
    }

    /// The tenant's name in this request.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        self.inner.record.id()
    }

    /// The tenant's life: what stores hold.
    #[must_use]
    pub fn life(&self) -> Life {
        self.inner.record.life()
    }

    /// The directory's record as it was when the context was made.
    pub fn record(&self) -> &TenantRecord {
        &self.inner.record
    }

    /// On whose behalf.
    #[must_use]
    pub fn subject(&self) -> &SubjectId {
        &self.inner.who.subject
    }

    /// Who acts: the subject, or who impersonates it.
    #[must_use]
    pub fn actor(&self) -> &SubjectId {
        self.inner.who.actor.as_ref().unwrap_or(&self.inner.who.subject)
    }

    /// The issuer that vouches for the subject.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.inner.who.issuer
    }

    /// The verified roles, sorted.
    #[must_use]
    pub fn roles(&self) -> &[Arc<str>] {
        &self.inner.who.roles
    }

    /// The request, which all its audit records carry.
    #[must_use]
    pub fn request(&self) -> RequestId {
        self.inner.request
    }

    /// How long the context may still be used.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.inner.deadline.saturating_sub(self.inner.realm.clock.monotonic())
    }

    /// The realm's wall time: what the expiry of a sealed value is compared with.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        self.inner.realm.clock.now()
    }

    /// Whether the context may be used now, by what is known at hand: its deadline and the last answer about the
    /// tenant's standing. Records nothing: it is a look, not a call. Scoped stores ask more, see
    /// [`Pass::enter`](crate::Pass::enter).
    ///
    /// # Errors
    /// [`Denial::DeadlinePassed`], [`Denial::FenceStale`], [`Denial::TenantSuspended`], [`Denial::TenantErased`] or
    /// [`Denial::RealmClosed`].
    pub fn ensure(&self) -> Result<(), Denial> {
        self.inner.realm.ensure_open()?;
        let now = self.inner.realm.clock.monotonic();
        if self.inner.deadline <= now {
            return Err(Denial::DeadlinePassed);
        }
        self.inner.realm.fence.check_now(&self.inner.fence, now)
    }

    /// As [`ensure`](Self::ensure), asking the directory where the last answer is getting old: after a wait of seconds, a
    /// model's answer say, when no store was entered meanwhile. Dropped, the question is forgotten.
    ///
    /// # Errors
    /// As [`ensure`](Self::ensure); recorded.
    pub async fn refresh(&self) -> Result<(), Denial> {
        self.ensure_fresh().await.map_err(|denial| self.deny("refresh", denial))
    }

    /// As [`ensure`](Self::ensure), whatever the age of the last answer: for a handle, each call of which asks again.
    pub(crate) fn ensure_so_far(&self) -> Result<(), Denial> {
        self.inner.realm.ensure_open()?;
        if self.remaining().is_zero() {
            return Err(Denial::DeadlinePassed);
        }
        Fence::check_last(&self.inner.fence)
    }

    pub(crate) async fn ensure_fresh(&self) -> Result<(), Denial> {
        self.inner.realm.ensure_open()?;
        if self.remaining().is_zero() {
            return Err(Denial::DeadlinePassed);
        }
        self.inner.realm.fence.check(&self.inner.fence).await
    }

    /// Proof that the subject may do `P`.
    ///
    /// # Errors
    /// [`Denial::PermissionMissing`], recorded; or as [`ensure`](Self::ensure).
    pub fn authorize<P: Permission>(&self) -> Result<Authorized<P>, Denial> {
        self.ensure().map_err(|denial| self.deny("authorize", denial))?;
        if !self.inner.permissions.holds(P::NAME) {
            return Err(self.deny("authorize", Denial::PermissionMissing));
        }
        Ok(Authorized::new(self.clone()))
    }

    /// Work for a queue: a ticket bound to these payload bytes, verified again by the worker that opens it.
    ///
    /// The job gets at most the permissions of this context. Inside a job the ticket lives at most as long as the job's
    /// own.
    ///
    /// # Errors
    /// [`TicketFault::TooLong`](crate::TicketFault::TooLong) when `ttl` is more than the kind or the parent allows; or
    /// as [`ensure`](Self::ensure).
    pub fn ticket<K: JobKind>(&self, payload: &[u8], ttl: Duration) -> Result<JobTicket<K>, Denial> {
        self.ensure().and_then(|()| JobTicket::issue(&self.inner, payload, ttl)).map_err(|d| self.deny("ticket", d))
    }

    /// Ties a value to this tenant.
    pub fn scope<T>(&self, value: T) -> Scoped<T> {
        Scoped::new(self.inner.realm.tag, self.life(), value)
    }

    /// Derives a name of data for one purpose: 32 bytes that no other tenant, life or realm has for the same fields.
    ///
    /// # Errors
    /// As [`ensure`](Self::ensure), and [`Denial::KeyDestroyed`]; recorded.
    pub fn derive<P: DataPurpose>(&self, fields: &Fields) -> Result<Digest<P>, Denial> {
        self.names().map(|names| names.derive(fields))
    }

    /// Derives many names of data for one purpose: the points of a write, the hits of an answer.
    ///
    /// # Errors
    /// As [`derive`](Self::derive), once for all of them.
    pub fn names<P: DataPurpose>(&self) -> Result<Names<'_, P>, Denial> {
        let key = self.ensure().and_then(|()| self.inner.keys.name(P::INDEX));
        key.map(Names::new).map_err(|denial| self.deny("derive", denial))
    }

    /// Seals bytes under the tenant's key: they open for the same life, purpose, schema and place only.
    ///
    /// # Errors
    /// As [`ensure`](Self::ensure), and [`Denial::KeyDestroyed`]; recorded.
    pub fn seal<P: SealPurpose>(
        &self,
        schema: u16,
        place: &Fields,
        expires: Option<SystemTime>,
        plain: &[u8],
    ) -> Result<Sealed<P>, Denial> {
        self.ensure()
            .and_then(|()| self.seal_of(P::INDEX, schema, place)?.close(expires, plain))
            .map(Sealed::new)
            .map_err(|denial| self.deny("seal", denial))
    }

    /// Opens sealed bytes.
    ///
    /// # Errors
    /// [`Denial::Seal`] for bytes that are altered, expired, or sealed for another place; [`Denial::WrongLife`] and
    /// [`Denial::ForeignRealm`] for somebody else's; or as [`ensure`](Self::ensure). All of them recorded.
    pub fn open<P: SealPurpose>(
        &self,
        schema: u16,
        place: &Fields,
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Denial> {
        self.ensure()
            .and_then(|()| self.seal_of(P::INDEX, schema, place)?.open(sealed, self.inner.realm.clock.now()))
            .map_err(|denial| self.deny("seal.open", denial))
    }

    /// A position in a listing as a text that the client may keep, bound to this tenant, this subject and the listing.
    ///
    /// # Errors
    /// As [`seal`](Self::seal).
    pub fn cursor(&self, listing: &Fields, position: &[u8]) -> Result<String, Denial> {
        let sealed = self.seal::<Cursor>(1, &self.cursor_place(listing), None, position)?;
        Ok(data_encoding::BASE64URL_NOPAD.encode(sealed.as_bytes()))
    }

    /// The position in a cursor that [`cursor`](Self::cursor) made for the same subject and listing.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_cursor(&self, listing: &Fields, cursor: &str) -> Result<Zeroizing<Vec<u8>>, Denial> {
        let sealed = data_encoding::BASE64URL_NOPAD
            .decode(cursor.as_bytes())
            .map_err(|_| self.deny("cursor.open", SealFault::Malformed.into()))?;
        self.open::<Cursor>(1, &self.cursor_place(listing), &sealed)
    }

    /// The tenant's own audit records, oldest first. Read on a thread that may block; dropped, nothing is left behind.
    ///
    /// # Errors
    /// [`Denial::ForeignRealm`], [`Denial::WrongLife`] or [`Denial::PermissionMissing`] for somebody else's proof, and
    /// [`Denial::DeadlinePassed`] for one that has lapsed, recorded;
    /// [`Denial::AuditUnavailable`] when the log can't be read.
    pub async fn audit(&self, proof: &Authorized<ReadAudit>) -> Result<Vec<AuditRecord>, Denial> {
        self.compare("audit.read", proof.context().realm(), proof.context().life())?;
        // A colleague's proof is no proof, nor is one whose own deadline has passed.
        let same = proof.context().subject() == self.subject() && proof.context().issuer() == self.issuer();
        let held = if same { proof.check() } else { Err(Denial::PermissionMissing) };
        held.map_err(|denial| self.deny("audit.read", denial))?;
        let (auditor, life) = (self.inner.realm.auditor.clone(), self.life());
        let listing = tokio::task::spawn_blocking(move || auditor.list(life)).await;
        listing.unwrap_or(Err(Denial::AuditUnavailable))
    }

    fn cursor_place(&self, listing: &Fields) -> Fields {
        let mut place = Fields::new();
        place.text(1, self.issuer()).text(2, self.subject().as_str()).bytes(3, listing.as_bytes());
        place
    }

    fn seal_of<'a>(&'a self, index: usize, schema: u16, place: &'a Fields) -> Result<Seal<'a>, Denial> {
        let key = self.inner.keys.seal(index)?;
        Ok(Seal { realm: self.inner.realm.tag, life: self.life(), key, schema, place })
    }

    /// Compares what a value carries with this context; a mismatch is a denial and a record.
    pub(crate) fn compare(&self, action: &'static str, realm: RealmTag, life: Life) -> Result<(), Denial> {
        self.ensure().map_err(|denial| self.deny(action, denial))?;
        self.compare_only(action, realm, life)
    }

    /// As [`compare`](Self::compare), where the context was asked already.
    pub(crate) fn compare_only(&self, action: &'static str, realm: RealmTag, life: Life) -> Result<(), Denial> {
        let outcome = if realm != self.inner.realm.tag {
            Err(Denial::ForeignRealm)
        } else if life != self.life() {
            Err(Denial::WrongLife)
        } else {
            Ok(())
        };
        outcome.map_err(|denial| self.deny(action, denial))
    }

    /// Records a denial in the tenant's own chain and gives it back.
    pub(crate) fn deny(&self, action: &'static str, denial: Denial) -> Denial {
        self.record_event(self.event(action, Outcome::Denied, None, Some(denial)));
        denial
    }

    /// What is about to be recorded of this context. A denial is counted here, so that every way of recording counts.
    pub(crate) fn event(
        &self,
        action: &'static str,
        outcome: Outcome,
        store: Option<StoreName>,
        denial: Option<Denial>,
    ) -> AuditEvent {
        if let Some(denial) = denial {
            self.inner.realm.recorder.count(Metric::Denied { rule: denial.rule() });
        }
        AuditEvent {
            life: Some(self.life()),
            actor: Some(self.actor().clone()),
            subject: Some(self.subject().clone()),
            store,
            rule: denial.map(|d| d.rule()),
            request: Some(self.inner.request),
            ..AuditEvent::new(action, outcome, self.inner.realm.clock.now())
        }
    }

    pub(crate) fn record_event(&self, event: AuditEvent) {
        self.inner.realm.auditor.record(Lane::Life(self.life()), event);
    }

    /// Whether this is the first access of the request to a store.
    pub(crate) fn first_access(&self, store: StoreName) -> bool {
        let mut accessed = self.inner.accessed.lock().unwrap_or_else(PoisonError::into_inner);
        let first = !accessed.contains(&store);
        if first {
            accessed.push(store);
        }
        first
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// What everything scoped carries of its realm.
    #[must_use]
    pub fn realm(&self) -> RealmTag {
        self.inner.realm.tag
    }
}

impl fmt::Debug for TenantContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantContext({:?}, {:?})", self.life(), self.subject())
    }
}
