//! Work for a queue: the context does not travel, a sealed ticket does, and the worker verifies it again.

use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::clock::unix_seconds;
use crate::context::{Inner, TenantContext, Who};
use crate::denial::{Denial, SealFault, TicketFault};
use crate::encode::Fields;
use crate::id::{Life, SubjectId};
use crate::keys::{SealKey, random_bytes};
use crate::permission::PermissionSet;
use crate::purpose::RealmPurpose;
use crate::realm::RealmShared;
use crate::redacted::{BoxError, Redacted};
use crate::seal::{self, Seal};

/// A kind of job.
pub trait JobKind: Send + Sync + 'static {
    /// Its name. A ticket of one kind does not open as another.
    const NAME: &'static str;
    /// The queue it travels in.
    const QUEUE: &'static str;
    /// How long a ticket may live at most.
    const MAX_TTL: Duration;
    /// Whether a ticket opens once or as often as the queue delivers it.
    const USE: TicketUse;
}

/// How often a ticket opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TicketUse {
    /// Once, in the whole deployment: needs a [`TicketLedger`]. A worker that dies after opening it has used it up.
    Once,
    /// As often as the queue delivers it, until it expires.
    Repeatable,
}

/// A sealed ticket for a job of kind `K`: life, subject, permission ceiling, digest of the payload, expiry.
///
/// The text says nothing to anybody but the realm. It is no credential: the edge refuses it
/// ([`CredentialFault::TicketAtEdge`](crate::CredentialFault::TicketAtEdge)), and its type has no way into
/// [`Realm::authenticate`](crate::Realm::authenticate).
pub struct JobTicket<K: JobKind> {
    sealed: Vec<u8>,
    kind: PhantomData<fn() -> K>,
}

impl<K: JobKind> JobTicket<K> {
    pub(crate) fn issue(context: &Inner, payload: &[u8], ttl: Duration) -> Result<Self, Denial> {
        let realm = &context.realm;
        let now = realm.clock.now();
        let expires = now + ttl;
        let outlives_parent = context.ticket_expiry.is_some_and(|parent| expires > parent);
        if ttl.is_zero() || ttl > K::MAX_TTL || ttl > realm.settings.max_ticket || outlives_parent {
            return Err(TicketFault::TooLong.into());
        }
        let body = Body {
            id: data_encoding::HEXLOWER.encode(&random_bytes::<16>()),
            kind: K::NAME.to_owned(),
            queue: K::QUEUE.to_owned(),
            payload: digest(payload),
            issuer: context.who.issuer.to_string(),
            subject: context.who.subject.as_str().to_owned(),
            actor: context.who.actor.as_ref().map(|actor| actor.as_str().to_owned()),
            roles: context.who.roles.iter().map(|role| role.to_string()).collect(),
            permissions: context.permissions.names().map(str::to_owned).collect(),
            once: K::USE == TicketUse::Once,
            issued: unix_seconds(now),
            expires: unix_seconds(expires),
        };
        let plain = Zeroizing::new(serde_json::to_vec(&body).map_err(|_| TicketFault::Altered)?);
        let key = ticket_key(realm);
        let place = Fields::new();
        let seal = Seal { realm: realm.tag, life: context.record.life(), key: &key, schema: SCHEMA, place: &place };
        Ok(Self { sealed: seal.close(None, &plain)?, kind: PhantomData })
    }

    /// The ticket as text, for a queue.
    #[must_use]
    pub fn to_wire(&self) -> String {
        format!("{PREFIX}{}", data_encoding::BASE64URL_NOPAD.encode(&self.sealed))
    }

    /// Takes a ticket from a queue. Nothing is verified before [`Worker::open`](crate::Worker::open), which also refuses,
    /// on record, a text that is no ticket at all.
    #[must_use]
    pub fn from_wire(text: &str) -> Self {
        let body = text.strip_prefix(PREFIX).filter(|_| text.len() <= MAX_WIRE);
        let sealed = body.and_then(|body| data_encoding::BASE64URL_NOPAD.decode(body.as_bytes()).ok());
        Self { sealed: sealed.unwrap_or_default(), kind: PhantomData }
    }

    /// The life the ticket says it is for, before anything is verified: for attributing a refusal.
    pub(crate) fn claimed_life(&self) -> Option<Life> {
        seal::claimed_life(&self.sealed)
    }

    /// Opens the seal and checks everything that needs nobody else: kind, queue, payload, time.
    pub(crate) fn verify(&self, realm: &RealmShared, payload: &[u8]) -> Result<VerifiedTicket, Denial> {
        let now = realm.clock.now();
        let life = self.claimed_life().ok_or(TicketFault::Altered)?;
        let key = ticket_key(realm);
        let place = Fields::new();
        let seal = Seal { realm: realm.tag, life, key: &key, schema: SCHEMA, place: &place };
        let plain = seal.open(&self.sealed, now).map_err(|denial| match denial {
            Denial::ForeignRealm => TicketFault::ForeignRealm,
            Denial::Seal(SealFault::KeyUnknown) => TicketFault::ForeignRealm,
            _altered => TicketFault::Altered,
        })?;
        let body: Body = serde_json::from_slice(&plain).map_err(|_| TicketFault::Altered)?;
        let expires = SystemTime::UNIX_EPOCH + Duration::from_secs(body.expires);
        if body.kind != K::NAME {
            return Err(TicketFault::WrongKind.into());
        }
        if body.queue != K::QUEUE {
            return Err(TicketFault::WrongQueue.into());
        }
        if now >= expires {
            return Err(TicketFault::Expired.into());
        }
        // A kind of the same name may have sealed it with other rules: the stricter of both hold.
        if body.expires.saturating_sub(body.issued) > K::MAX_TTL.as_secs() {
            return Err(TicketFault::TooLong.into());
        }
        if body.payload != digest(payload) {
            return Err(TicketFault::WrongPayload.into());
        }
        let subject = |text: &str| SubjectId::parse(text).map_err(|_| TicketFault::Altered);
        Ok(VerifiedTicket {
            id: body.id,
            life,
            who: Who {
                issuer: body.issuer.into(),
                subject: subject(&body.subject)?,
                actor: body.actor.as_deref().map(subject).transpose()?,
                roles: body.roles.into_iter().map(Arc::from).collect(),
            },
            ceiling: body.permissions.into_iter().map(Arc::from).collect(),
            once: body.once || K::USE == TicketUse::Once,
            issued: SystemTime::UNIX_EPOCH + Duration::from_secs(body.issued),
            expires,
        })
    }
}

impl<K: JobKind> fmt::Debug for JobTicket<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JobTicket<{}>(..)", K::NAME)
    }
}

/// What a ticket says once its seal has opened.
pub(crate) struct VerifiedTicket {
    pub(crate) id: String,
    pub(crate) life: Life,
    pub(crate) who: Who,
    pub(crate) ceiling: PermissionSet,
    pub(crate) once: bool,
    pub(crate) issued: SystemTime,
    pub(crate) expires: SystemTime,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    id: String,
    kind: String,
    queue: String,
    payload: String,
    issuer: String,
    subject: String,
    actor: Option<String>,
    roles: Vec<String>,
    permissions: Vec<String>,
    once: bool,
    issued: u64,
    expires: u64,
}

/// A verified job: the context it runs in, and the very payload that was verified.
pub struct Job<K: JobKind> {
    context: TenantContext,
    payload: Vec<u8>,
    kind: PhantomData<fn() -> K>,
}

impl<K: JobKind> Job<K> {
    pub(crate) const fn new(context: TenantContext, payload: Vec<u8>) -> Self {
        Self { context, payload, kind: PhantomData }
    }

    /// The context: the tenant of whoever enqueued the job, with at most the permissions it had.
    #[must_use]
    pub const fn context(&self) -> &TenantContext {
        &self.context
    }

    /// The payload whose digest the ticket holds.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }
}

impl<K: JobKind> fmt::Debug for Job<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Job<{}>({:?}, {} bytes)", K::NAME, self.context, self.payload.len())
    }
}

/// Remembers which tickets were used. Implemented by users; called by the realm only. Shared by all workers.
#[async_trait]
pub trait TicketLedger: Send + Sync + 'static {
    /// Notes a ticket as used, durably, before it answers. Exactly one caller ever hears [`Redeemed::First`] for one
    /// ticket; entries may be forgotten once [`Redemption::keep_until`] has passed. Dropped: the ticket may count as
    /// used.
    ///
    /// # Errors
    /// [`LedgerError`]; the ticket is then refused.
    async fn redeem(&self, redemption: Redemption<'_>) -> Result<Redeemed, LedgerError>;
}

#[async_trait]
impl<L: TicketLedger + ?Sized> TicketLedger for Arc<L> {
    async fn redeem(&self, redemption: Redemption<'_>) -> Result<Redeemed, LedgerError> {
        (**self).redeem(redemption).await
    }
}

/// One use of one ticket. Built by this crate only.
#[derive(Clone, Copy, Debug)]
pub struct Redemption<'a> {
    id: &'a str,
    keep_until: SystemTime,
}

impl<'a> Redemption<'a> {
    pub(crate) fn new(id: &'a str, expires: SystemTime) -> Self {
        Self { id, keep_until: expires + SKEW }
    }

    /// The ticket's id: 32 hex digits.
    #[must_use]
    pub const fn id(&self) -> &'a str {
        self.id
    }

    /// Until when the use must be remembered.
    #[must_use]
    pub const fn keep_until(&self) -> SystemTime {
        self.keep_until
    }
}

/// What the ledger says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Redeemed {
    /// This was the first use.
    First,
    /// It was used before.
    Again,
}

/// The ledger did not answer.
#[derive(Debug, thiserror::Error)]
#[error("the ledger of used tickets is unavailable")]
pub struct LedgerError(#[source] Redacted<BoxError>);

impl LedgerError {
    /// Wraps a driver's error.
    pub fn new(error: impl Into<BoxError>) -> Self {
        Self(Redacted::new(error.into()))
    }
}

/// Used tickets in this process: for a service whose workers all live in it.
#[derive(Debug, Default)]
pub struct MemoryTicketLedger {
    used: Mutex<HashMap<String, SystemTime>>,
}

impl MemoryTicketLedger {
    /// An empty ledger.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl TicketLedger for MemoryTicketLedger {
    async fn redeem(&self, redemption: Redemption<'_>) -> Result<Redeemed, LedgerError> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() >= SWEEP_AT {
            let now = SystemTime::now();
            used.retain(|_, keep_until| *keep_until > now);
        }
        let before = used.insert(redemption.id.to_owned(), redemption.keep_until);
        Ok(if before.is_none() { Redeemed::First } else { Redeemed::Again })
    }
}

fn digest(payload: &[u8]) -> String {
    let hash = blake3::derive_key("tenancy 2026-11-29 job payload digest v1", payload);
    data_encoding::HEXLOWER.encode(&hash)
}

fn ticket_key(realm: &RealmShared) -> SealKey {
    SealKey::new(Zeroizing::new(*realm.keys.get(RealmPurpose::Ticket)))
}

/// Also what the edge recognises a ticket by.
pub(crate) const PREFIX: &str = "tkt1.";
const SCHEMA: u16 = 1;
const MAX_WIRE: usize = 64 * 1024;
/// Clocks of two machines may differ by this much without a used ticket being forgotten too early.
const SKEW: Duration = Duration::from_secs(300);
const SWEEP_AT: usize = 4096;
