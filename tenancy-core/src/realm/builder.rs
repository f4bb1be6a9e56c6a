//! Building a realm: what is missing is named by the type.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Realm, RealmShared, RealmTag, Settings};
use crate::audit::{AuditEvent, AuditSettings, AuditSink, Auditor, Lane, Outcome};
use crate::clock::{Clock, SystemClock};
use crate::config::ConfigError;
use crate::corpus::{CorpusVersions, MemoryCorpusVersions};
use crate::credential::{OperatorIssuer, TenantIssuer};
use crate::denial::Denial;
use crate::directory::TenantDirectory;
use crate::encode::Fields;
use crate::fence::Fence;
use crate::id::{RealmName, Region};
use crate::keys::{KeyProvider, KeyStore, Keyring};
use crate::metrics::{NoMetrics, Recorder};
use crate::purpose::RealmPurpose;
use crate::ticket::TicketLedger;

/// A realm under construction. The state says what it still wants; only [`Ready`] has `build`.
pub struct RealmBuilder<State> {
    common: Common,
    state: State,
}

struct Common {
    name: RealmName,
    clock: Arc<dyn Clock>,
    overrides: Vec<(&'static str, String)>,
}

/// Wants to know who the tenants are.
#[derive(Debug)]
#[non_exhaustive]
pub struct WantsDirectory;

/// Wants to know whose tokens tenants present.
#[non_exhaustive]
pub struct WantsIssuers {
    directory: Arc<dyn TenantDirectory>,
}

/// Wants to know whose tokens operators present, if anybody's.
#[non_exhaustive]
pub struct WantsOperators {
    directory: Arc<dyn TenantDirectory>,
    issuers: Vec<TenantIssuer>,
}

/// Wants to know who wraps keys and where they are kept.
#[non_exhaustive]
pub struct WantsKeys {
    directory: Arc<dyn TenantDirectory>,
    issuers: Vec<TenantIssuer>,
    operators: Vec<OperatorIssuer>,
}

/// Wants to know where records go.
#[non_exhaustive]
pub struct WantsAudit {
    directory: Arc<dyn TenantDirectory>,
    issuers: Vec<TenantIssuer>,
    operators: Vec<OperatorIssuer>,
    provider: Arc<dyn KeyProvider>,
    keys: Arc<dyn KeyStore>,
}

/// Has all it needs; the rest has defaults.
#[non_exhaustive]
pub struct Ready {
    wants: WantsAudit,
    sink: Arc<dyn AuditSink>,
    audit: AuditSettings,
    settings: Settings,
    versions: Arc<dyn CorpusVersions>,
    ledger: Option<Arc<dyn TicketLedger>>,
    recorder: Arc<dyn Recorder>,
}

impl RealmBuilder<WantsDirectory> {
    pub(super) fn new(name: RealmName) -> Self {
        let common = Common { name, clock: Arc::new(SystemClock::new()), overrides: Vec::new() };
        Self { common, state: WantsDirectory }
    }

    /// Sets who the tenants are.
    pub fn directory(self, directory: impl TenantDirectory) -> RealmBuilder<WantsIssuers> {
        RealmBuilder { common: self.common, state: WantsIssuers { directory: Arc::new(directory) } }
    }
}

impl RealmBuilder<WantsIssuers> {
    /// Sets whose tokens tenants present. May be none where API keys are all there is.
    pub fn issuers(self, issuers: impl IntoIterator<Item = TenantIssuer>) -> RealmBuilder<WantsOperators> {
        let WantsIssuers { directory } = self.state;
        let state = WantsOperators { directory, issuers: issuers.into_iter().collect() };
        RealmBuilder { common: self.common, state }
    }
}

impl RealmBuilder<WantsOperators> {
    /// Sets whose tokens open grants across tenants. A tenant issuer can't be among them: its type is another, and an
    /// issuer named in both lists is refused by [`build`](RealmBuilder::build).
    pub fn operators(self, operators: impl IntoIterator<Item = OperatorIssuer>) -> RealmBuilder<WantsKeys> {
        let WantsOperators { directory, issuers } = self.state;
        let state = WantsKeys { directory, issuers, operators: operators.into_iter().collect() };
        RealmBuilder { common: self.common, state }
    }

    /// Nobody crosses between tenants.
    pub fn no_operators(self) -> RealmBuilder<WantsKeys> {
        self.operators([])
    }
}

impl RealmBuilder<WantsKeys> {
    /// Sets who wraps data keys and where the wraps are kept.
    pub fn keys(self, provider: impl KeyProvider, store: impl KeyStore) -> RealmBuilder<WantsAudit> {
        let WantsKeys { directory, issuers, operators } = self.state;
        let (provider, keys) = (Arc::new(provider), Arc::new(store));
        RealmBuilder { common: self.common, state: WantsAudit { directory, issuers, operators, provider, keys } }
    }
}

impl RealmBuilder<WantsAudit> {
    /// Sets where records go. There is no realm without.
    pub fn audit(self, sink: impl AuditSink) -> RealmBuilder<Ready> {
        let state = Ready {
            wants: self.state,
            sink: Arc::new(sink),
            audit: AuditSettings::default(),
            settings: Settings::default(),
            versions: Arc::new(MemoryCorpusVersions::new()),
            ledger: None,
            recorder: Arc::new(NoMetrics),
        };
        RealmBuilder { common: self.common, state }
    }
}

impl RealmBuilder<Ready> {
    /// The region of stores and tenants that name none. Default `home`.
    #[must_use]
    pub fn region(mut self, region: Region) -> Self {
        self.state.settings.region = region;
        self
    }

    /// How old an answer about a tenant's standing may be. Default 5 s. A suspended tenant stops within it.
    #[must_use]
    pub const fn fence_age(mut self, age: Duration) -> Self {
        self.state.settings.fence_age = age;
        self
    }

    /// How long an unwrapped key is cached for new contexts. Default 60 s.
    #[must_use]
    pub const fn key_age(mut self, age: Duration) -> Self {
        self.state.settings.key_age = age;
        self
    }

    /// How long a context lives at most, however long its credential does. Default 5 min.
    #[must_use]
    pub const fn max_request(mut self, limit: Duration) -> Self {
        self.state.settings.max_request = limit;
        self
    }

    /// How long a job ticket lives at most, whatever its kind allows. Default 24 h.
    #[must_use]
    pub const fn max_ticket(mut self, limit: Duration) -> Self {
        self.state.settings.max_ticket = limit;
        self
    }

    /// How long the directory and the key store may take to answer. Default 2 s.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.state.settings.patience = patience;
        self
    }

    /// Bounds of the audit queues.
    #[must_use]
    pub fn audit_settings(mut self, settings: AuditSettings) -> Self {
        self.state.audit = settings;
        self
    }

    /// Where versions of documents are kept. Default: in this process. Must be shared by all processes that share a
    /// cache.
    #[must_use]
    pub fn corpus_versions(mut self, versions: impl CorpusVersions) -> Self {
        self.state.versions = Arc::new(versions);
        self
    }

    /// Where used tickets are kept. Without one, tickets for single use are refused.
    #[must_use]
    pub fn ticket_ledger(mut self, ledger: impl TicketLedger) -> Self {
        self.state.ledger = Some(Arc::new(ledger));
        self
    }

    /// Where counts go. Default: nowhere.
    #[must_use]
    pub fn metrics(mut self, recorder: impl Recorder) -> Self {
        self.state.recorder = Arc::new(recorder);
        self
    }

    /// Starts the realm: loads or makes its keys and starts the audit log's writer.
    ///
    /// Dropped before it answers: nothing runs; keys made on the way are used by the next start.
    ///
    /// # Errors
    /// [`ConfigError`] for an issuer named twice, an audit log that can't be opened, or a key that can't be had.
    pub async fn build(self) -> Result<Realm, ConfigError> {
        let Self { common, state } = self;
        let Common { name, clock, overrides } = common;
        let Ready { wants, sink, audit, settings, versions, ledger, recorder } = state;
        let WantsAudit { directory, issuers, operators, provider, keys } = wants;
        refuse_repeated_issuers(&issuers, &operators)?;
        let keyring = Keyring::new(name.clone(), provider, keys, Arc::clone(&clock), settings.key_age);
        let realm_keys = tokio::time::timeout(settings.patience * 5, keyring.realm()).await;
        let realm_keys = realm_keys.map_err(|_| Denial::KeyUnavailable)??;
        let auditor = Auditor::start(sink, name.clone(), Arc::clone(&clock), audit)
            .map_err(|e| ConfigError::Other(format!("the audit log can't be started: {e}")))?;
        for (what, reason) in overrides {
            let event = AuditEvent { reason: Some(reason), ..AuditEvent::new(what, Outcome::Lifecycle, clock.now()) };
            auditor.durable(Lane::Operators, event).await?;
        }
        let fence = Fence::new(Arc::clone(&directory), Arc::clone(&clock), settings.fence_age, settings.patience);
        let shared = RealmShared {
            tag: tag_of(&name, realm_keys.get(RealmPurpose::Identity)),
            name,
            settings,
            clock,
            directory,
            fence,
            issuers,
            operator_issuers: operators,
            keyring,
            keys: realm_keys,
            auditor,
            versions,
            ledger,
            recorder,
            row_keys: Mutex::default(),
            closed: AtomicBool::new(false),
        };
        Ok(Realm { shared: Arc::new(shared) })
    }
}

impl<State> RealmBuilder<State> {
    /// See [`danger::with_clock`](crate::danger::with_clock).
    pub(crate) fn replace_clock(mut self, clock: Arc<dyn Clock>, reason: &str) -> Self {
        self.common.clock = clock;
        self.common.overrides.push(("danger.with_clock", reason.to_owned()));
        self
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            // A constant of the alphabet that the parser takes.
            #[expect(clippy::expect_used, reason = "a constant that parses, see the test below")]
            region: Region::parse("home").expect("a well-formed label"),
            fence_age: Duration::from_secs(5),
            key_age: Duration::from_secs(60),
            max_request: Duration::from_secs(300),
            max_ticket: Duration::from_secs(24 * 3600),
            patience: Duration::from_secs(2),
        }
    }
}

/// The tag follows from the realm's random key, so it is the same in every process of a deployment and survives a
/// rotation of the root, and two realms that were given one name by mistake still differ.
fn tag_of(name: &RealmName, identity: &[u8; 32]) -> RealmTag {
    let mut fields = Fields::new();
    fields.text(1, name.as_str());
    let hash = blake3::keyed_hash(identity, fields.as_bytes());
    let mut tag = [0; 16];
    tag.copy_from_slice(&hash.as_bytes()[..16]);
    RealmTag::of_bytes(tag)
}

fn refuse_repeated_issuers(issuers: &[TenantIssuer], operators: &[OperatorIssuer]) -> Result<(), ConfigError> {
    let tenants = issuers.iter().map(|issuer| &**issuer.rules().issuer());
    let staff = operators.iter().map(|issuer| &**issuer.rules().issuer());
    let mut names: Vec<&str> = tenants.chain(staff).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(ConfigError::Other(format!(
            "issuer \"{}\" is named twice; one issuer serves either tenants or operators, once",
            pair[0]
        ))),
        None => Ok(()),
    }
}

impl<State> fmt::Debug for RealmBuilder<State> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = std::any::type_name::<State>();
        write!(f, "RealmBuilder<{}>({})", state.rsplit("::").next().unwrap_or(state), self.common.name)
    }
}

macro_rules! opaque_debug {
    ($($state:ident),*) => {$(
        impl fmt::Debug for $state {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($state))
            }
        }
    )*};
}

opaque_debug!(WantsIssuers, WantsOperators, WantsKeys, WantsAudit, Ready);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_region_is_well_formed() {
        assert_eq!(Settings::default().region.as_str(), "home");
    }
}
