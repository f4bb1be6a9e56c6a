//! The one mechanism behind every scoped client: a gate per store, a pass per context, an entry per call.
//!
//! A client crate holds a [`Gate`]. Its `scoped(&ctx)` asks the gate for a [`Pass`]; every data method of the scoped
//! handle begins with [`Pass::enter`] and works with the [`Entered`] that comes back. The scope tokens that back ends
//! are called with are built from an `Entered`, so a method that forgot to enter has nothing to call its back end with.
//! What an operator changes for all begins with a [`Publication`](crate::Publication) in its place.

use std::future::Future;
use std::sync::Arc;

use crate::audit::{Lane, Outcome, Slot};
use crate::context::TenantContext;
use crate::corpus::{CorpusError, CorpusScope, CorpusVersion, WriteId};
use crate::denial::Denial;
use crate::directory::TenantRecord;
use crate::id::{Life, Region, StoreName};
use crate::metrics::Metric;
use crate::realm::{Realm, RealmShared, RealmTag};

/// Guards one store of one realm in one region.
#[derive(Clone, Debug)]
pub struct Gate {
    realm: Arc<RealmShared>,
    store: StoreName,
    region: Region,
}

impl Gate {
    /// A gate for a store in the realm's own region.
    #[must_use]
    pub fn new(realm: &Realm, store: StoreName) -> Self {
        let realm = Arc::clone(realm.shared());
        let region = realm.settings.region.clone();
        Self { realm, store, region }
    }

    /// The same gate for a store in another region.
    #[must_use]
    pub fn in_region(mut self, region: Region) -> Self {
        self.region = region;
        self
    }

    /// The store.
    #[must_use]
    pub const fn store(&self) -> StoreName {
        self.store
    }

    /// Records a denial of nobody's in the anonymous chain, and gives it back: for work that no tenant asked for.
    #[must_use]
    pub fn refuse(&self, action: &'static str, denial: Denial) -> Denial {
        self.realm.deny_anonymous(action, Some(self.store), denial)
    }

    /// Records a failure of nobody's in the anonymous chain, with a fixed word in the place of the rule, as
    /// [`Entered::failed_as`]: for work that no tenant asked for.
    pub fn failed_as(&self, action: &'static str, what: &'static str) {
        self.realm.fail_anonymous(action, Some(self.store), what);
    }

    /// Counts something that happened to this store's client. Whose work it was is no part of it.
    pub fn count(&self, event: &'static str) {
        self.realm.recorder.count(Metric::Event { store: self.store, event });
    }

    /// Whether the realm still serves anybody: for work that no tenant asked for.
    ///
    /// # Errors
    /// [`Denial::RealmClosed`].
    pub fn ensure_open(&self) -> Result<(), Denial> {
        self.realm.ensure_open()
    }

    pub(crate) fn realm_tag(&self) -> RealmTag {
        self.realm.tag
    }

    /// Refuses a tenant that is placed in another region.
    pub(crate) fn ensure_home(&self, record: &TenantRecord) -> Result<(), Denial> {
        let home = record.placement().region.as_ref().unwrap_or(&self.realm.settings.region);
        if *home == self.region { Ok(()) } else { Err(Denial::WrongRegion) }
    }

    /// Lets a context through to this store. What is known of the tenant may be old, after a wait for a model say: each
    /// call through the pass asks again.
    ///
    /// # Errors
    /// [`Denial::ForeignRealm`], [`Denial::WrongRegion`], or as [`TenantContext::ensure`] without
    /// [`Denial::FenceStale`]; all recorded. A foreign
    /// context's denial is recorded in this realm's anonymous chain: its own realm is none of ours.
    pub fn scoped(&self, context: &TenantContext) -> Result<Pass, Denial> {
        let pass = self.everywhere(context)?;
        self.ensure_home(context.record()).map_err(|denial| pass.refuse("scoped", denial))?;
        Ok(pass)
    }

    /// Lets a context through to a collection of stores in any region, each of which has a gate of its own that
    /// compares regions.
    ///
    /// # Errors
    /// As [`scoped`](Self::scoped), without [`Denial::WrongRegion`].
    pub fn everywhere(&self, context: &TenantContext) -> Result<Pass, Denial> {
        if context.realm() != self.realm.tag {
            return Err(self.realm.deny_anonymous("scoped", Some(self.store), Denial::ForeignRealm));
        }
        let pass = Pass { context: context.clone(), store: self.store };
        context.ensure_so_far().map_err(|denial| pass.refuse("scoped", denial))?;
        Ok(pass)
    }
}

/// A context that was let through to one store. Made by [`Gate::scoped`] only.
#[derive(Clone, Debug)]
pub struct Pass {
    context: TenantContext,
    store: StoreName,
}

impl Pass {
    /// The context.
    #[must_use]
    pub const fn context(&self) -> &TenantContext {
        &self.context
    }

    /// Counts what a look into a part of the store came to.
    pub fn count_look(&self, part: &'static str, outcome: &'static str) {
        let inner = self.context.inner();
        let class = inner.record.plan().service_class;
        inner.realm.recorder.count(Metric::Look { store: self.store, part, outcome, class });
    }

    /// Begins one call: reserves the place of its record, then checks the deadline and the tenant's standing, then
    /// notes the request's first access to the store.
    ///
    /// Dropped before it answers, or the answer dropped without [`Entered::done`] or another end, it leaves a
    /// `cancelled` record, so a check that had begun is never without a trace.
    ///
    /// # Errors
    /// As [`TenantContext::ensure`], [`Denial::DirectoryUnavailable`], and [`Denial::AuditUnavailable`] when the record
    /// has no place. All but the last recorded.
    pub async fn enter(&self, action: &'static str) -> Result<Entered<'_>, Denial> {
        let lane = Lane::Life(self.context.life());
        let slot = self.context.inner().realm.auditor.reserve(lane).await?;
        let entered = Entered { pass: self, action, slot: Some(slot) };
        if let Err(denial) = self.context.ensure_fresh().await {
            return Err(entered.deny(denial));
        }
        if self.context.first_access(self.store) {
            self.context.record_event(self.context.event(action, Outcome::Accessed, Some(self.store), None));
        }
        Ok(entered)
    }

    /// Records that the store serves this context with an exception, and the reason its configuration gives for it.
    pub fn note(&self, action: &'static str, reason: String) {
        let event = self.context.event(action, Outcome::Done, Some(self.store), None);
        self.context.record_event(crate::audit::AuditEvent { reason: Some(reason), ..event });
    }

    /// Records that this context takes a way around the store's boundary, and the reason. Durable when this returns.
    ///
    /// # Errors
    /// [`Denial::AuditUnavailable`]: do not take it.
    pub async fn exit(&self, action: &'static str, reason: &'static str) -> Result<(), Denial> {
        let event = self.context.event(action, Outcome::Done, Some(self.store), None);
        let event = crate::audit::AuditEvent { reason: Some(reason.to_owned()), ..event };
        self.context.inner().realm.auditor.durable(Lane::Life(self.context.life()), event).await
    }

    /// Records a denial that was found outside a call, and gives it back.
    #[must_use]
    pub fn refuse(&self, action: &'static str, denial: Denial) -> Denial {
        self.context.record_event(self.context.event(action, Outcome::Denied, Some(self.store), Some(denial)));
        denial
    }

    /// Records a failure that was found outside a call, as [`Entered::failed_as`].
    pub fn failed_as(&self, action: &'static str, what: &'static str) {
        let event = self.context.event(action, Outcome::Failed, Some(self.store), None);
        self.context.record_event(crate::audit::AuditEvent { rule: Some(what), ..event });
    }
}

/// One call in progress. Not `Clone`; ends with one of its methods, or as `cancelled` when dropped.
#[derive(Debug)]
#[must_use = "an entry that is dropped is recorded as cancelled"]
pub struct Entered<'a> {
    pass: &'a Pass,
    action: &'static str,
    slot: Option<Slot>,
}

impl<'a> Entered<'a> {
    /// The context.
    #[must_use]
    pub const fn context(&self) -> &'a TenantContext {
        &self.pass.context
    }

    /// Checks again by what is known at hand: before each batch of a stream and before a commit.
    ///
    /// # Errors
    /// As [`TenantContext::ensure`].
    pub fn check(&self) -> Result<(), Denial> {
        self.context().ensure()
    }

    /// As [`check`](Self::check), asking the directory where the last answer is getting old: after a store took its time.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn check_fresh(&self) -> Result<(), Denial> {
        self.context().ensure_fresh().await
    }

    /// Ends the call: a read that went through. The access was recorded at the request's first.
    pub fn done(mut self) {
        if let Some(slot) = self.slot.take() {
            slot.waive();
        }
    }

    /// Ends the call: data was changed.
    pub fn changed(self) {
        self.end(Outcome::Changed, None);
    }

    /// Ends the call: something singly recorded went through, a tool call say.
    pub fn performed(self) {
        self.end(Outcome::Done, None);
    }

    /// Ends the call: it failed without being refused.
    pub fn failed(self) {
        self.end(Outcome::Failed, None);
    }

    /// As [`failed`](Self::failed), with a fixed word for what went wrong in the place of the rule: `tool.timed_out`.
    pub fn failed_as(mut self, what: &'static str) {
        if let Some(slot) = self.slot.take() {
            slot.settle(crate::audit::AuditEvent { rule: Some(what), ..self.event(Outcome::Failed, None) });
        }
    }

    /// Ends the call with a denial, recorded in the place that was reserved, and gives it back.
    #[must_use]
    pub fn deny(self, denial: Denial) -> Denial {
        self.end(Outcome::Denied, Some(denial));
        denial
    }

    /// The version of the tenant's documents, for a key that must change when they do. `None` while a write is under
    /// way: bypass the cache then.
    ///
    /// # Errors
    /// [`Denial::DirectoryUnavailable`] when the versions can't be read: bypass the cache then too.
    pub async fn corpus_version(&self) -> Result<Option<CorpusVersion>, Denial> {
        self.context().inner().realm.version(self.context().life()).await
    }

    /// Announces a write to the tenant's documents. From here until [`CorpusWrite::settle`] caches are bypassed, so
    /// nothing read before the write can be kept under the version that comes after it.
    ///
    /// # Errors
    /// [`Denial::DirectoryUnavailable`]: do not write.
    pub async fn begin_corpus_write(&self) -> Result<CorpusWrite, Denial> {
        CorpusWrite::begin(Arc::clone(&self.context().inner().realm), self.context().life()).await
    }

    fn end(mut self, outcome: Outcome, denial: Option<Denial>) {
        if let Some(slot) = self.slot.take() {
            slot.settle(self.event(outcome, denial));
        }
    }

    fn event(&self, outcome: Outcome, denial: Option<Denial>) -> crate::audit::AuditEvent {
        self.pass.context.event(self.action, outcome, Some(self.pass.store), denial)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            slot.settle(self.event(Outcome::Cancelled, None));
        }
    }
}

/// A write to the documents of a tenant or of a shared corpus that has begun. Dropped without being settled, caches of
/// them stay bypassed until the write's lease runs out.
#[derive(Debug)]
#[must_use = "caches are bypassed until the write is settled"]
pub struct CorpusWrite {
    realm: Arc<RealmShared>,
    life: Life,
    write: WriteId,
}

impl CorpusWrite {
    pub(crate) async fn begin(realm: Arc<RealmShared>, life: Life) -> Result<Self, Denial> {
        let write = WriteId::random();
        in_time(&realm, realm.versions.begin(CorpusScope::new(realm.tag, life), write)).await?;
        Ok(Self { realm, life, write })
    }

    /// The write is over, well or not: the documents have a new version from here on.
    ///
    /// # Errors
    /// [`Denial::DirectoryUnavailable`]; caches stay bypassed until the write's lease runs out.
    pub async fn settle(self) -> Result<(), Denial> {
        let scope = CorpusScope::new(self.realm.tag, self.life);
        in_time(&self.realm, self.realm.versions.settle(scope, self.write)).await.map(drop)
    }
}

impl RealmShared {
    /// The version of the documents of a life, or of a shared corpus.
    pub(crate) async fn version(&self, life: Life) -> Result<Option<CorpusVersion>, Denial> {
        in_time(self, self.versions.current(CorpusScope::new(self.tag, life))).await
    }
}

/// What the versions answer within the realm's patience.
async fn in_time<T>(realm: &RealmShared, answer: impl Future<Output = Result<T, CorpusError>>) -> Result<T, Denial> {
    let answer = tokio::time::timeout(realm.settings.patience, answer).await;
    answer.map_err(|_| Denial::DirectoryUnavailable)?.map_err(CorpusError::into_denial)
}
