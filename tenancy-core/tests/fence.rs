//! Contexts that were handed out stop when their tenant does, and when nothing can be heard.

use std::time::Duration;

use tenancy_core::{Denial, Gate, Scoped, StoreName, TenantId};
use tenancy_testkit::{Fault, TestTenants};

const STORE: StoreName = StoreName::new("store");

#[tokio::test]
async fn a_hint_stops_a_handed_out_context_at_its_next_call() {
    let tenants = TestTenants::new().await;
    let pass = Gate::new(tenants.realm(), STORE).scoped(&tenants.context("acme").await).unwrap();
    pass.enter("read").await.unwrap().done();
    tenants.suspend("acme");
    assert_eq!(pass.enter("read").await.unwrap_err(), Denial::TenantSuspended);
    tenants.directory().resume(&TenantId::parse("acme").unwrap()).unwrap();
    tenants.realm().hint(tenants.life("acme"));
    pass.enter("read").await.expect("served again").done();
    tenants.erase("acme");
    assert_eq!(pass.enter("read").await.unwrap_err(), Denial::TenantErased);
    let rules = tenants.denied_rules().await;
    assert_eq!(rules, ["tenant.suspended", "tenant.erased"]);
}

#[tokio::test]
async fn without_a_hint_the_bound_holds() {
    let tenants = TestTenants::builder().clock().build().await;
    let acme = tenants.context("acme").await;
    let pass = Gate::new(tenants.realm(), STORE).scoped(&acme).unwrap();
    tenants.directory().suspend(&TenantId::parse("acme").unwrap()).unwrap();
    // In the first half of the bound the last answer is used as it is.
    tenants.clock().advance(Duration::from_millis(2400));
    pass.enter("read").await.expect("within the first half").done();
    tenants.clock().advance(Duration::from_millis(200));
    assert_eq!(pass.enter("read").await.unwrap_err(), Denial::TenantSuspended);
    assert_eq!(acme.ensure().unwrap_err(), Denial::TenantSuspended);
}

#[tokio::test]
async fn a_process_that_hears_nothing_stops_by_itself() {
    for fault in [Fault::Error, Fault::Hang] {
        let tenants =
            TestTenants::builder().clock().build_with(|ready| ready.patience(Duration::from_millis(30))).await;
        let acme = tenants.context("acme").await;
        let pass = Gate::new(tenants.realm(), STORE).scoped(&acme).unwrap();
        let value: Scoped<&str> = acme.scope("kept");
        tenants.faults().set(fault);
        tenants.clock().advance(Duration::from_millis(4900));
        pass.enter("read").await.expect("stale, and within the bound").done();
        tenants.clock().advance(Duration::from_millis(100));
        assert_eq!(pass.enter("read").await.unwrap_err(), Denial::FenceStale, "{fault:?}");
        assert_eq!(acme.ensure().unwrap_err(), Denial::FenceStale);
        assert_eq!(
            acme.derive::<tenancy_core::purpose::CacheKey>(&tenancy_core::Fields::new()),
            Err(Denial::FenceStale)
        );
        assert_eq!(value.open(&acme).unwrap_err(), Denial::FenceStale);
        tenants.faults().set(Fault::None);
        pass.enter("read").await.expect("heard again").done();
    }
}

#[tokio::test]
async fn a_late_answer_does_not_undo_a_newer_one() {
    let tenants = TestTenants::new().await;
    let acme = tenants.context("acme").await;
    let pass = Gate::new(tenants.realm(), STORE).scoped(&acme).unwrap();
    tenants.faults().set(Fault::Slow);
    tenants.realm().hint(acme.life());
    // The question is asked, then the tenant is suspended and a hint comes, then the old answer arrives.
    let entering = pass.enter("read");
    let suspending = async {
        tokio::task::yield_now().await;
        tenants.suspend("acme");
    };
    let (entered, ()) = tokio::join!(entering, suspending);
    drop(entered);
    assert_eq!(pass.enter("read").await.unwrap_err(), Denial::TenantSuspended);
}

#[tokio::test]
async fn deadlines_are_absolute_and_indifferent_to_the_wall_clock() {
    let tenants = TestTenants::builder().clock().build_with(|r| r.max_request(Duration::from_secs(3))).await;
    let acme = tenants.context("acme").await;
    let pass = Gate::new(tenants.realm(), STORE).scoped(&acme).unwrap();
    let wall = tenancy_core::Clock::now(tenants.clock());
    tenants.clock().step_wall(wall - Duration::from_secs(90));
    tenants.clock().advance(Duration::from_millis(2900));
    assert_eq!(acme.ensure(), Ok(()));
    tenants.clock().advance(Duration::from_millis(100));
    assert_eq!(acme.ensure(), Err(Denial::DeadlinePassed));
    assert_eq!(pass.enter("read").await.unwrap_err(), Denial::DeadlinePassed);
    tenants.clock().step_wall(wall - Duration::from_secs(3600));
    assert_eq!(acme.ensure(), Err(Denial::DeadlinePassed));
}

#[tokio::test]
async fn a_host_that_slept_asks_again() {
    let tenants = TestTenants::builder().clock().build().await;
    let acme = tenants.context("acme").await;
    let pass = Gate::new(tenants.realm(), STORE).scoped(&acme).unwrap();
    tenants.directory().suspend(&TenantId::parse("acme").unwrap()).unwrap();
    let wall = tenancy_core::Clock::now(tenants.clock());
    tenants.clock().step_wall(wall + Duration::from_secs(60));
    assert_eq!(pass.enter("read").await.unwrap_err(), Denial::TenantSuspended);
}

#[tokio::test]
async fn a_closed_realm_serves_nobody() {
    let tenants = TestTenants::new().await;
    let acme = tenants.context("acme").await;
    let pass = Gate::new(tenants.realm(), STORE).scoped(&acme).unwrap();
    tenants.realm().close().await.unwrap();
    tenants.realm().close().await.expect("closing twice is fine");
    assert_eq!(acme.ensure(), Err(Denial::RealmClosed));
    assert_eq!(pass.enter("read").await.unwrap_err(), Denial::RealmClosed);
    let token = tenants.token("acme");
    let again = tenants.realm().authenticate(&tenancy_core::Credential::bearer(token)).await;
    assert_eq!(again.unwrap_err(), Denial::RealmClosed);
}

#[tokio::test]
async fn a_context_that_waited_for_a_model_is_refreshed() {
    let tenants = TestTenants::builder().clock().build().await;
    let acme = tenants.context("acme").await;
    tenants.clock().advance(Duration::from_secs(30));
    assert_eq!(acme.ensure(), Err(Denial::FenceStale), "nothing was heard meanwhile");
    let pass = Gate::new(tenants.realm(), STORE).scoped(&acme).expect("a handle, whose calls ask");
    tenants.faults().set(Fault::Error);
    assert_eq!(pass.enter("read").await.unwrap_err(), Denial::FenceStale);
    tenants.faults().set(Fault::None);
    pass.enter("read").await.expect("asked").done();
    tenants.clock().advance(Duration::from_secs(30));
    acme.refresh().await.unwrap();
    assert_eq!(acme.ensure(), Ok(()));
    tenants.suspend("acme");
    assert_eq!(acme.refresh().await, Err(Denial::TenantSuspended));
    tenants.clock().advance(Duration::from_secs(30));
    let refused = Gate::new(tenants.realm(), STORE).scoped(&acme).map(drop);
    assert_eq!(refused, Err(Denial::TenantSuspended), "what is known is not forgotten");
    assert!(tenants.denied_rules().await.contains(&"tenant.suspended".to_owned()));
}

/// A sink that takes the first records and panics then.
struct Dying(std::sync::atomic::AtomicU32);

impl tenancy_core::AuditSink for Dying {
    fn append(&self, _: &tenancy_core::AuditBatch<'_>) -> Result<(), tenancy_core::AuditError> {
        let calls = self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        assert!(calls < 1, "the disk is on fire");
        Ok(())
    }

    fn list(&self, _: tenancy_core::Life) -> Result<Vec<tenancy_core::AuditRecord>, tenancy_core::AuditError> {
        Ok(Vec::new())
    }
}

#[tokio::test]
async fn a_realm_whose_log_died_serves_nobody() {
    let tenants = TestTenants::new().await;
    let realm = tenancy_core::Realm::builder(tenancy_core::RealmName::parse("dying").unwrap())
        .directory(tenants.directory().clone())
        .issuers([tenants.issuer().for_tenants()])
        .no_operators()
        .keys(
            tenancy_core::LocalKeyProvider::new(tenancy_core::RootKey::generate()),
            tenancy_core::MemoryKeyStore::new(),
        )
        .audit(Dying(std::sync::atomic::AtomicU32::new(0)))
        .build()
        .await
        .unwrap();
    let token = || tenancy_core::Credential::bearer(tenants.token("acme"));
    let acme = realm.authenticate(&token()).await.unwrap();
    assert_eq!(acme.ensure(), Ok(()));
    // The next record kills the sink; from then on even what is looked up in memory is refused.
    assert_eq!(acme.authorize::<tenancy_core::permission::ReadAudit>().map(drop), Ok(()));
    assert!(realm.authenticate(&tenancy_core::Credential::bearer("forged")).await.is_err());
    assert!(realm.flush().await.is_err());
    assert_eq!(acme.ensure(), Err(Denial::AuditUnavailable));
    assert_eq!(acme.scope(1).open(&acme), Err(Denial::AuditUnavailable));
    assert_eq!(realm.authenticate(&token()).await.unwrap_err(), Denial::AuditUnavailable);
}
