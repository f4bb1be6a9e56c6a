//! Every future of the core dropped after its k-th poll, for every k: nothing is lost, nothing is left behind.

use std::time::Duration;

use tenancy_core::{Credential, Gate, JobKind, Outcome, Reach, Selection, StoreName, TenantId, TicketUse};
use tenancy_testkit::{Fault, TestTenants, drop_at_every_poll};

struct Once;
impl JobKind for Once {
    const NAME: &'static str = "once";
    const QUEUE: &'static str = "jobs";
    const MAX_TTL: Duration = Duration::from_secs(60);
    const USE: TicketUse = TicketUse::Once;
}

/// A realm whose directory gives way before it answers, so that there is something to drop.
async fn slow() -> TestTenants {
    let tenants = TestTenants::new().await;
    tenants.faults().set(Fault::Slow);
    tenants
}

#[tokio::test]
async fn authenticating_leaves_a_record_wherever_it_is_dropped() {
    let tenants = slow().await;
    let good = tenants.token("acme");
    let verified = async || tenants.realm().verify(&Credential::bearer(good.clone())).await.unwrap();
    let mut dropped = 0u64;
    let polls = drop_at_every_poll(
        || async { tenants.realm().context(verified().await, Selection::Only).await },
        async |_, output| dropped += u64::from(output.is_none()),
    )
    .await;
    assert!(polls > 3, "the directory is slow");
    assert_eq!(count(&tenants, Outcome::Cancelled).await, dropped);
    tenants.context("acme").await;
}

#[tokio::test]
async fn a_denial_that_was_found_is_on_record_and_a_check_that_had_begun_is_too() {
    let tenants = slow().await;
    let token =
        tenants.issuer().sign(&tenants.issuer().claims("u", Some("initech"), &[], std::time::SystemTime::now()));
    let (mut dropped, mut denied) = (0, 0);
    drop_at_every_poll(
        || async { tenants.realm().authenticate(&Credential::bearer(token.clone())).await },
        async |_, output| match output {
            None => dropped += 1,
            Some(Err(_)) => denied += 1,
            Some(Ok(_)) => panic!("nobody's tenant"),
        },
    )
    .await;
    assert_eq!(denied, 1);
    assert_eq!(count(&tenants, Outcome::Denied).await, 1);
    assert_eq!(count(&tenants, Outcome::Cancelled).await, dropped);
}

#[tokio::test]
async fn entering_a_store_leaves_a_record_and_the_next_one_enters() {
    let tenants = slow().await;
    let pass = Gate::new(tenants.realm(), StoreName::new("store")).scoped(&tenants.context("acme").await).unwrap();
    let other = Gate::new(tenants.realm(), StoreName::new("store")).scoped(&tenants.context("globex").await).unwrap();
    let mut dropped = 0u64;
    drop_at_every_poll(
        || {
            tenants.realm().hint(tenants.life("acme"));
            async { pass.enter("read").await.map(tenancy_core::Entered::done) }
        },
        async |_, output| {
            dropped += u64::from(output.is_none());
            other.enter("read").await.unwrap().done();
        },
    )
    .await;
    assert!(dropped >= 3);
    assert_eq!(count(&tenants, Outcome::Cancelled).await, dropped);
    // An entry that nobody ended.
    drop(pass.enter("read").await.unwrap());
    assert_eq!(count(&tenants, Outcome::Cancelled).await, dropped + 1);
}

#[tokio::test]
async fn a_suspended_tenants_denial_is_on_record_whenever_it_was_found() {
    let tenants = slow().await;
    let pass = Gate::new(tenants.realm(), StoreName::new("store")).scoped(&tenants.context("acme").await).unwrap();
    tenants.suspend("acme");
    let mut ended = (0u64, 0u64);
    drop_at_every_poll(
        || {
            tenants.realm().hint(tenants.life("acme"));
            async { pass.enter("read").await.map(tenancy_core::Entered::done) }
        },
        async |_, output| match output {
            None => ended.0 += 1,
            Some(result) => {
                assert!(result.is_err());
                ended.1 += 1;
            }
        },
    )
    .await;
    assert_eq!((count(&tenants, Outcome::Cancelled).await, count(&tenants, Outcome::Denied).await), ended);
}

#[tokio::test]
async fn opening_a_ticket_uses_it_up_once_at_most() {
    let tenants = slow().await;
    let acme = tenants.context("acme").await;
    let worker = tenants.realm().worker();
    for polls in 1..20 {
        let ticket = acme.ticket::<Once>(b"p", Duration::from_secs(30)).unwrap();
        let first = tenancy_testkit::poll_times(worker.open(&ticket, b"p".to_vec()), polls).await;
        let second = worker.open(&ticket, b"p".to_vec()).await;
        match first {
            Some(opened) => {
                opened.unwrap();
                assert_eq!(second.unwrap_err().rule(), "ticket.replayed");
                return;
            }
            None => assert!(second.is_ok(), "dropped before the ledger was asked: still good"),
        }
    }
    panic!("the ticket never opened");
}

#[tokio::test]
async fn a_grant_is_on_record_before_it_is_there() {
    let tenants = slow().await;
    let reach = || Reach::One(TenantId::parse("acme").unwrap());
    let credential = Credential::bearer(tenants.operator_token());
    let operators = tenants.realm().operators();
    let mut opened = 0;
    drop_at_every_poll(
        || operators.open(&credential, "a reason of some length", "CASE-9", reach(), Duration::from_secs(60)),
        async |_, output| {
            if let Some(grant) = output {
                grant.unwrap();
                opened += 1;
                let records = tenants.audit().await;
                let acts = records.iter().filter(|r| r.action() == "grant.open" && r.outcome() == Outcome::Done);
                assert!(acts.count() >= 1);
            }
        },
    )
    .await;
    assert_eq!(opened, 1);
}

async fn count(tenants: &TestTenants, outcome: Outcome) -> u64 {
    // Equal records within a second are counted; their sum is written when the second is over.
    tokio::time::sleep(Duration::from_millis(1300)).await;
    tenants.audit().await.iter().filter(|r| r.outcome() == outcome).map(|r| r.count()).sum()
}
