//! A realm with tenants in it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tenancy_core::{
    AuditRecord, Clock, Credential, Life, LocalKeyProvider, MemoryKeyStore, MemorySink, MemoryTicketLedger, Outcome,
    Ready, Realm, RealmBuilder, RealmName, Region, RootKey, StaticDirectory, TenantContext, TenantId, TenantRecord,
};

use crate::{FaultyDirectory, ManualClock, TestIssuer};

/// A real realm with two tenants, `acme` and `globex`, and whichever are added.
///
/// Their users hold every built-in permission through the role `editor`; the role `reader` may only ask.
pub struct TestTenants {
    realm: Realm,
    directory: StaticDirectory,
    faulty: FaultyDirectory,
    issuer: TestIssuer,
    operators: TestIssuer,
    sink: MemorySink,
    clock: Option<Arc<ManualClock>>,
}

/// Settings of a [`TestTenants`].
#[derive(Debug)]
pub struct TestTenantsBuilder {
    realm: String,
    tenants: Vec<String>,
    clock: Option<Arc<ManualClock>>,
}

impl TestTenants {
    /// A realm of its own with `acme` and `globex`.
    ///
    /// # Panics
    /// When it can't be set up, as everything here.
    pub async fn new() -> Self {
        Self::builder().build().await
    }

    /// Settings to change first.
    #[must_use]
    pub fn builder() -> TestTenantsBuilder {
        let tenants = vec!["acme".to_owned(), "globex".to_owned()];
        TestTenantsBuilder { realm: "test".to_owned(), tenants, clock: None }
    }

    /// The realm.
    #[must_use]
    pub const fn realm(&self) -> &Realm {
        &self.realm
    }

    /// The directory, for suspending, erasing and adding.
    #[must_use]
    pub const fn directory(&self) -> &StaticDirectory {
        &self.directory
    }

    /// The directory as the realm asks it, for making it slow, fail or lie.
    #[must_use]
    pub const fn faults(&self) -> &FaultyDirectory {
        &self.faulty
    }

    /// The tenants' issuer.
    #[must_use]
    pub const fn issuer(&self) -> &TestIssuer {
        &self.issuer
    }

    /// The operators' issuer.
    #[must_use]
    pub const fn operators(&self) -> &TestIssuer {
        &self.operators
    }

    /// The clock of [`TestTenantsBuilder::clock`].
    ///
    /// # Panics
    /// When none was set.
    #[must_use]
    pub fn clock(&self) -> &ManualClock {
        self.clock.as_ref().expect("a clock was set with the builder")
    }

    /// A token of a user of the tenant with the role `editor`.
    #[must_use]
    pub fn token(&self, tenant: &str) -> String {
        self.token_of(tenant, &format!("user@{tenant}"), &["editor"])
    }

    /// A token of a given user with given roles.
    #[must_use]
    pub fn token_of(&self, tenant: &str, subject: &str, roles: &[&str]) -> String {
        self.issuer.sign(&self.issuer.claims(subject, Some(tenant), roles, self.now()))
    }

    /// A token of an operator.
    #[must_use]
    pub fn operator_token(&self) -> String {
        self.operators.sign(&self.operators.claims("operator-1", None, &[], self.now()))
    }

    /// A context of the tenant, through a real token.
    pub async fn context(&self, tenant: &str) -> TenantContext {
        self.context_of(tenant, &format!("user@{tenant}"), &["editor"]).await
    }

    /// A context of a given user with given roles.
    pub async fn context_of(&self, tenant: &str, subject: &str, roles: &[&str]) -> TenantContext {
        let token = self.token_of(tenant, subject, roles);
        self.realm.authenticate(&Credential::bearer(token)).await.expect("a good token of a known tenant")
    }

    /// The life of a living tenant.
    #[must_use]
    pub fn life(&self, tenant: &str) -> Life {
        self.directory.life_of(&id(tenant)).expect("a living tenant")
    }

    /// Suspends a tenant and hints at it.
    pub fn suspend(&self, tenant: &str) {
        let life = self.life(tenant);
        self.directory.suspend(&id(tenant)).expect("a living tenant");
        self.realm.hint(life);
    }

    /// Erases a tenant and hints at it.
    pub fn erase(&self, tenant: &str) {
        let life = self.life(tenant);
        self.directory.erase(&id(tenant)).expect("a living tenant");
        self.realm.hint(life);
    }

    /// Every audit record so far, oldest first, after making them durable.
    pub async fn audit(&self) -> Vec<AuditRecord> {
        self.realm.flush().await.expect("a memory sink takes everything");
        self.sink.records()
    }

    /// The rules of all denials on record so far, oldest first.
    pub async fn denied_rules(&self) -> Vec<String> {
        let records = self.audit().await;
        let denied = records.iter().filter(|record| record.outcome() == Outcome::Denied);
        denied.filter_map(|record| record.rule().map(str::to_owned)).collect()
    }

    fn now(&self) -> SystemTime {
        self.clock.as_ref().map_or_else(SystemTime::now, |clock| clock.now())
    }
}

impl fmt::Debug for TestTenants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TestTenants({:?})", self.realm)
    }
}

impl TestTenantsBuilder {
    /// Names the realm. Two realms of one name are still two.
    #[must_use]
    pub fn realm(mut self, name: &str) -> Self {
        name.clone_into(&mut self.realm);
        self
    }

    /// Adds a tenant.
    #[must_use]
    pub fn tenant(mut self, name: &str) -> Self {
        self.tenants.push(name.to_owned());
        self
    }

    /// Sets a clock that the test moves.
    #[must_use]
    pub fn clock(mut self) -> Self {
        self.clock = Some(Arc::new(ManualClock::new()));
        self
    }

    /// Starts the realm.
    pub async fn build(self) -> TestTenants {
        self.build_with(|ready| ready).await
    }

    /// Starts the realm after changing its last settings.
    pub async fn build_with(
        self,
        change: impl FnOnce(RealmBuilder<Ready>) -> RealmBuilder<Ready> + Send,
    ) -> TestTenants {
        let issuer = TestIssuer::new("https://login.test", "rag");
        let operators = TestIssuer::new("https://staff.test", "rag-operators");
        let directory = StaticDirectory::new();
        for name in &self.tenants {
            directory.add(record(name, issuer.issuer())).expect("tenants that do not collide");
        }
        let faulty = FaultyDirectory::new(directory.clone());
        let sink = MemorySink::new();
        let builder = Realm::builder(RealmName::parse(&self.realm).expect("a good realm name"));
        let builder = match &self.clock {
            Some(clock) => tenancy_core::danger::with_clock(builder, clock.clone(), "a test moves the time"),
            None => builder,
        };
        let ready = builder
            .directory(faulty.clone())
            .issuers([issuer.for_tenants()])
            .operators([operators.for_operators()])
            .keys(LocalKeyProvider::new(RootKey::generate()), MemoryKeyStore::new())
            .audit(sink.clone())
            .region(Region::parse("home").expect("a good region"))
            .ticket_ledger(MemoryTicketLedger::new());
        let realm = change(ready).build().await.expect("a realm of sound parts");
        TestTenants { realm, directory, faulty, issuer, operators, sink, clock: self.clock }
    }
}

/// A tenant as a directory would hold it: born a day ago, with an editor who may do everything.
fn record(name: &str, issuer: &str) -> TenantRecord {
    let born = SystemTime::now() - Duration::from_secs(24 * 3600);
    TenantRecord::new(id(name), Life::random(), born)
        .claim(issuer, name)
        .role(issuer, "editor", EVERYTHING)
        .role(issuer, "reader", ["use-model"])
        .role(TenantRecord::API_KEYS, "reader", ["use-model"])
}

fn id(name: &str) -> TenantId {
    TenantId::parse(name).expect("a good tenant name")
}

const EVERYTHING: [&str; 7] =
    ["use-model", "ingest", "fine-tune", "publish-adapter", "configure", "manage-keys", "read-audit"];
