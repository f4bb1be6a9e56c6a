//! Two realms in one process, and two lives in one realm: every mix is refused.

use std::time::Duration;

use tenancy_core::purpose::{CacheKey, CacheValue};
use tenancy_core::{
    Credential, Denial, Fields, Gate, JobKind, JobTicket, Reach, SealFault, Selection, StoreName, TicketUse,
};
use tenancy_testkit::TestTenants;

struct Work;
impl JobKind for Work {
    const NAME: &'static str = "work";
    const QUEUE: &'static str = "jobs";
    const MAX_TTL: Duration = Duration::from_secs(60);
    const USE: TicketUse = TicketUse::Repeatable;
}

#[tokio::test]
async fn what_one_realm_made_another_refuses() {
    // The same name on purpose: it is the keys that make a realm.
    let here = TestTenants::builder().realm("prod").build().await;
    let there = TestTenants::builder().realm("prod").build().await;
    assert_ne!(here.realm().tag(), there.realm().tag());
    let (ours, theirs) = (here.context("acme").await, there.context("acme").await);
    let gate = Gate::new(here.realm(), StoreName::new("store"));
    gate.scoped(&ours).expect("the positive control");
    assert_eq!(gate.scoped(&theirs).unwrap_err(), Denial::ForeignRealm);
    assert!(here.denied_rules().await.contains(&"scope.foreign_realm".to_owned()), "in our own log");

    assert_eq!(ours.scope(1).open(&theirs).unwrap_err(), Denial::ForeignRealm);
    let verified = there.realm().verify(&Credential::bearer(there.token("acme"))).await.unwrap();
    assert_eq!(here.realm().context(verified, Selection::Only).await.unwrap_err(), Denial::ForeignRealm);
    let token = here.realm().authenticate(&Credential::bearer(there.token("acme"))).await.unwrap_err();
    assert_eq!(token.rule(), "credential.signature");

    let place = Fields::new();
    let sealed = ours.seal::<CacheValue>(1, &place, None, b"x").unwrap();
    assert_eq!(theirs.open::<CacheValue>(1, &place, sealed.as_bytes()).unwrap_err(), Denial::ForeignRealm);
    let ticket = JobTicket::<Work>::from_wire(&ours.ticket::<Work>(b"p", Duration::from_secs(9)).unwrap().to_wire());
    let opened = there.realm().worker().open(&ticket, b"p".to_vec()).await;
    assert_eq!(opened.unwrap_err().rule(), "ticket.foreign_realm");

    let proof = ours.authorize::<tenancy_core::permission::ReadAudit>().unwrap();
    assert!(ours.audit(&proof).await.is_ok());
    assert_eq!(theirs.audit(&proof).await.unwrap_err(), Denial::ForeignRealm);
    let colleague = here.context_of("acme", "colleague", &["reader"]).await;
    assert_eq!(colleague.audit(&proof).await.unwrap_err(), Denial::PermissionMissing, "a colleague's proof");
    let manage = theirs.authorize::<tenancy_core::permission::ManageKeys>().unwrap();
    let subject = tenancy_core::SubjectId::parse("bot").unwrap();
    assert_eq!(here.realm().issue_api_key(&manage, subject, &[], None).unwrap_err(), Denial::ForeignRealm);

    let acme = Reach::One(tenancy_core::TenantId::parse("acme").unwrap());
    let credential = Credential::bearer(there.operator_token());
    let minute = Duration::from_secs(60);
    let grant =
        there.realm().operators().open(&credential, "looking into a report", "CASE-1", acme, minute).await.unwrap();
    let used = grant.exercise(&gate, Some(there.life("acme")), "look").await;
    assert_eq!(used.unwrap_err(), Denial::ForeignRealm);
}

#[tokio::test]
async fn what_one_life_made_another_refuses() {
    let tenants = TestTenants::new().await;
    let (acme, globex) = (tenants.context("acme").await, tenants.context("globex").await);
    let place = Fields::new();
    let sealed = acme.seal::<CacheValue>(1, &place, None, b"x").unwrap();
    assert_eq!(acme.open::<CacheValue>(1, &place, sealed.as_bytes()).unwrap().as_slice(), b"x");
    assert_eq!(globex.open::<CacheValue>(1, &place, sealed.as_bytes()).unwrap_err(), Denial::WrongLife);
    let cursor = acme.cursor(&place, b"at 7").unwrap();
    assert_eq!(acme.open_cursor(&place, &cursor).unwrap().as_slice(), b"at 7");
    assert_eq!(globex.open_cursor(&place, &cursor).unwrap_err(), Denial::WrongLife);
    let colleague = tenants.context_of("acme", "colleague", &["editor"]).await;
    assert_eq!(colleague.open_cursor(&place, &cursor).unwrap_err(), SealFault::Refused.into());
    let mut other_listing = Fields::new();
    other_listing.text(1, "other");
    assert_eq!(acme.open_cursor(&other_listing, &cursor).unwrap_err(), SealFault::Refused.into());
    assert_eq!(acme.scope(1).open(&globex).unwrap_err(), Denial::WrongLife);
    assert_eq!(acme.scope(1).open(&acme), Ok(1));

    assert_eq!(sealed.clone().into_bytes(), sealed.as_bytes());

    let derive = |ctx: &tenancy_core::TenantContext| ctx.derive::<CacheKey>(&place).unwrap();
    assert_eq!(format!("{:?}", derive(&acme)), "Digest(..)");
    assert_eq!(derive(&acme).to_hex().len(), 64, "never truncated");
    assert_eq!(derive(&acme), derive(&colleague), "one life, one name");
    assert_ne!(derive(&acme), derive(&globex));
    let records = tenants.audit().await;
    let wrong: Vec<_> = records.iter().filter(|r| r.rule() == Some("scope.wrong_life")).collect();
    assert!(
        !wrong.is_empty() && wrong.iter().all(|r| r.life() == Some(tenants.life("globex"))),
        "in the caller's chain"
    );
}

#[tokio::test]
async fn a_reused_name_is_another_life() {
    let tenants = TestTenants::new().await;
    let old = tenants.context("acme").await;
    let place = Fields::new();
    let (key, sealed) =
        (old.derive::<CacheKey>(&place).unwrap(), old.seal::<CacheValue>(1, &place, None, b"old secrets").unwrap());
    tenants.erase("acme");
    let born = std::time::SystemTime::now() - Duration::from_secs(40);
    let id = tenancy_core::TenantId::parse("acme").unwrap();
    let record = tenancy_core::TenantRecord::new(id, tenancy_core::Life::random(), born)
        .claim(tenants.issuer().issuer(), "acme");
    tenants.directory().add(record).unwrap();
    let new = tenants.context("acme").await;
    assert_ne!(new.derive::<CacheKey>(&place).unwrap(), key);
    assert_eq!(new.open::<CacheValue>(1, &place, sealed.as_bytes()).unwrap_err(), Denial::WrongLife);
}

#[tokio::test]
async fn two_lives_with_one_row_key_are_not_both_served() {
    let tenants = TestTenants::new().await;
    let born = std::time::SystemTime::now() - Duration::from_secs(60);
    let record = |name: &str| {
        tenancy_core::TenantRecord::new(
            tenancy_core::TenantId::parse(name).unwrap(),
            tenancy_core::Life::random(),
            born,
        )
        .claim(tenants.issuer().issuer(), name)
        .row_key_of(tenancy_core::RowKey::BigInt(7))
    };
    tenants.faults().lie(record("initech"));
    tenants.context("initech").await;
    tenants.faults().lie(record("umbrella"));
    let token = tenants.token("umbrella");
    let refused = tenants.realm().authenticate(&Credential::bearer(token)).await.unwrap_err();
    assert_eq!(refused, Denial::StoreBreach);
}
