//! Operators: what a grant needs, how far it reaches, and who can read of it.
#![expect(clippy::unwrap_used, reason = "a test stops where it can't go on")]

use std::time::Duration;

use tenancy_core::permission::ReadAudit;
use tenancy_core::{Credential, CrossTenantGrant, Denial, Gate, Outcome, Reach, StoreName, TenantId};
use tenancy_testkit::TestTenants;

const MINUTE: Duration = Duration::from_secs(60);
const REASON: &str = "customer reports a wrong answer";

fn one(name: &str) -> Reach {
    Reach::One(TenantId::parse(name).unwrap())
}

async fn open(
    tenants: &TestTenants,
    token: String,
    reason: &str,
    case: &str,
    reach: Reach,
    ttl: Duration,
) -> Result<CrossTenantGrant, Denial> {
    tenants.realm().operators().open(&Credential::bearer(token), reason, case, reach, ttl).await
}

#[tokio::test]
async fn a_grant_needs_an_operator_a_reason_a_case_and_a_bound() {
    let tenants = TestTenants::new().await;
    let operator = || tenants.operator_token();
    open(&tenants, operator(), REASON, "CASE-1", one("acme"), MINUTE).await.expect("the positive control");
    let cases = [
        ("a tenant's token", tenants.token("acme"), REASON, "C-1", one("acme"), MINUTE, "grant.not_an_operator"),
        ("no reason", operator(), "", "C-1", one("acme"), MINUTE, "grant.reason_missing"),
        ("spaces for a reason", operator(), "            ", "C-1", one("acme"), MINUTE, "grant.reason_missing"),
        ("a word for a reason", operator(), "because", "C-1", one("acme"), MINUTE, "grant.reason_missing"),
        (
            "marks that nobody sees",
            operator(),
            "\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}",
            "C-1",
            one("acme"),
            MINUTE,
            "grant.reason_missing",
        ),
        ("a case that nobody sees", operator(), REASON, "\u{200b}", one("acme"), MINUTE, "grant.case_missing"),
        ("no case", operator(), REASON, " ", one("acme"), MINUTE, "grant.case_missing"),
        ("no time", operator(), REASON, "C-1", one("acme"), Duration::ZERO, "grant.too_long"),
        ("a day", operator(), REASON, "C-1", one("acme"), Duration::from_secs(86_400), "grant.too_long"),
        ("nobody's tenant", operator(), REASON, "C-1", one("initech"), MINUTE, "tenant.unknown"),
        ("a forged token", "x.y.z".to_owned(), REASON, "C-1", one("acme"), MINUTE, "credential.malformed"),
    ];
    for (what, token, reason, case, reach, ttl, rule) in cases {
        let denial = open(&tenants, token, reason, case, reach, ttl).await.expect_err(what);
        assert_eq!(denial.rule(), rule, "{what}");
        assert!(tenants.denied_rules().await.iter().any(|r| r == rule), "{what}: no record");
    }
    // And the other way round: an operator is nobody's user.
    let user = tenants.realm().authenticate(&Credential::bearer(operator())).await.unwrap_err();
    assert_eq!(user.rule(), "credential.issuer_unknown");
}

#[tokio::test]
async fn a_grant_reaches_one_tenant_and_its_uses_are_in_that_tenants_listing() {
    let tenants = TestTenants::builder().clock().build().await;
    let gate = Gate::new(tenants.realm(), StoreName::new("postgres"));
    let grant = open(&tenants, tenants.operator_token(), REASON, "CASE-1", one("acme"), MINUTE).await.unwrap();
    grant.exercise(&gate, Some(tenants.life("acme")), "report").await.unwrap();
    for life in [Some(tenants.life("globex")), None, Some(tenancy_core::Life::random())] {
        assert_eq!(grant.exercise(&gate, life, "report").await.unwrap_err().rule(), "grant.out_of_reach");
    }
    let listing = async |tenant: &str| {
        let ctx = tenants.context(tenant).await;
        let proof: tenancy_core::Authorized<ReadAudit> = ctx.authorize().unwrap();
        tenants.realm().flush().await.unwrap();
        ctx.audit(&proof).await.unwrap()
    };
    let acme = listing("acme").await;
    let used = acme.iter().find(|r| r.action() == "report" && r.outcome() == Outcome::Done).expect("acme sees the use");
    assert_eq!((used.actor(), used.store()), (Some("operator-1"), Some("postgres")));
    assert!(used.reason().is_some_and(|reason| reason.contains(REASON) && reason.contains("CASE-1")));
    assert!(listing("globex").await.iter().all(|r| r.outcome() != Outcome::Done), "globex does not");

    let every = open(&tenants, tenants.operator_token(), REASON, "CASE-2", Reach::Every, MINUTE).await.unwrap();
    every.exercise(&gate, None, "count").await.unwrap();
    let single = every.exercise(&gate, Some(tenants.life("acme")), "count").await.unwrap_err();
    assert_eq!(single.rule(), "grant.out_of_reach", "a grant for every tenant opens no single one");
    assert!(listing("globex").await.iter().all(|r| r.life() != Some(tenants.life("acme"))));
    for tenant in ["acme", "globex"] {
        assert!(listing(tenant).await.iter().any(|r| r.action() == "count"), "{tenant} sees what reaches everybody");
    }
    tenants.clock().advance(MINUTE);
    assert_eq!(grant.exercise(&gate, Some(tenants.life("acme")), "report").await.unwrap_err().rule(), "grant.expired");
}

#[tokio::test]
async fn keys_are_destroyed_for_an_erased_life_only_and_for_good() {
    let tenants = TestTenants::new().await;
    let place = tenancy_core::Fields::new();
    let acme = tenants.context("acme").await;
    let life = acme.life();
    let grant = open(&tenants, tenants.operator_token(), REASON, "CASE-1", one("acme"), MINUTE).await.unwrap();
    assert_eq!(tenants.realm().destroy_keys(&grant, life).await.unwrap_err(), Denial::NotVisible, "still alive");
    acme.derive::<tenancy_core::purpose::PointId>(&place).expect("and its keys with it");
    tenants.erase("acme");
    let verdict = tenants.realm().destroy_keys(&grant, life).await.unwrap();
    assert_eq!(verdict, tenancy_core::StoreVerdict::KeyDestroyed { backup_horizon: None });
    // Even before the fence is asked again, a handle that holds the keys can't use them.
    assert_eq!(acme.derive::<tenancy_core::purpose::PointId>(&place).unwrap_err(), Denial::KeyDestroyed);
    assert_eq!(tenants.realm().destroy_keys(&grant, life).await.unwrap(), verdict, "again is fine");
    // A directory that was restored from a backup and does not know the life any more gives no leave to destroy.
    tenants.faults().set(tenancy_testkit::Fault::Lie);
    assert_eq!(tenants.realm().destroy_keys(&grant, life).await.unwrap_err(), Denial::NotVisible);
    assert!(tenants.audit().await.iter().any(|r| r.action() == "erase" && r.rule() == Some("scope.not_visible")));
}

#[tokio::test]
async fn destroying_reaches_handles_of_every_age() {
    let tenants = TestTenants::builder().clock().build().await;
    let place = tenancy_core::Fields::new();
    let old = tenants.context("acme").await;
    let life = old.life();
    let grant = open(&tenants, tenants.operator_token(), REASON, "CASE-1", one("acme"), Duration::from_secs(600))
        .await
        .unwrap();
    // Keys are cached for a minute: the second context holds others than the first.
    tenants.clock().advance(Duration::from_secs(61));
    let new = tenants.context("acme").await;
    tenants.erase("acme");
    tenants.realm().destroy_keys(&grant, life).await.unwrap();
    for ctx in [&old, &new] {
        assert_eq!(ctx.derive::<tenancy_core::purpose::PointId>(&place).unwrap_err(), Denial::KeyDestroyed);
    }
}

#[tokio::test]
async fn loud_exits_are_on_record_with_their_reasons() {
    let tenants = TestTenants::builder().clock().build().await;
    let withheld = tenancy_core::Redacted::new(std::io::Error::other("postgres://app:hunter2@db"));
    let shown = tenancy_core::danger::expose(tenants.realm(), &withheld, "looking into an outage").await.unwrap();
    assert!(shown.to_string().contains("hunter2"));
    let records = tenants.audit().await;
    for (action, reason) in
        [("danger.with_clock", "a test moves the time"), ("danger.expose", "looking into an outage")]
    {
        assert!(records.iter().any(|r| r.action() == action && r.reason() == Some(reason)), "{action}");
    }
}
