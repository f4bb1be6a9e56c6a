//! B3: job tickets, each fault with its own rule.

use std::time::Duration;

use tenancy_core::permission::{ManageKeys, UseModel};
use tenancy_core::{Credential, CredentialFault, Denial, JobKind, JobTicket, TicketFault, TicketUse};
use tenancy_testkit::TestTenants;

struct Ingest;
impl JobKind for Ingest {
    const NAME: &'static str = "ingest";
    const QUEUE: &'static str = "jobs";
    const MAX_TTL: Duration = Duration::from_secs(3600);
    const USE: TicketUse = TicketUse::Once;
}

struct Reindex;
impl JobKind for Reindex {
    const NAME: &'static str = "reindex";
    const QUEUE: &'static str = "jobs";
    const MAX_TTL: Duration = Duration::from_secs(3600);
    const USE: TicketUse = TicketUse::Repeatable;
}

/// The same kind in another queue.
struct IngestElsewhere;
impl JobKind for IngestElsewhere {
    const NAME: &'static str = "ingest";
    const QUEUE: &'static str = "elsewhere";
    const MAX_TTL: Duration = Duration::from_secs(3600);
    const USE: TicketUse = TicketUse::Once;
}

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_ticket_carries_its_tenant_and_no_more_than_its_makers_permissions() {
    let tenants = TestTenants::new().await;
    let reader = tenants.context_of("acme", "reader-1", &["reader"]).await;
    let ticket = reader.ticket::<Ingest>(b"payload", MINUTE).unwrap();
    let ticket = JobTicket::<Ingest>::from_wire(&ticket.to_wire());
    let job = tenants.realm().worker().open(&ticket, b"payload".to_vec()).await.unwrap();
    assert_eq!(job.payload(), b"payload");
    let ctx = job.context();
    assert_eq!((ctx.tenant().as_str(), ctx.subject().as_str()), ("acme", "reader-1"));
    assert!(ctx.authorize::<UseModel>().is_ok());
    assert_eq!(ctx.authorize::<ManageKeys>().unwrap_err(), Denial::PermissionMissing);
}

#[tokio::test]
async fn every_fault_of_a_ticket_has_its_own_rule() {
    let tenants = TestTenants::builder().clock().build().await;
    let other = TestTenants::builder().realm("test").build().await;
    let acme = tenants.context("acme").await;
    let worker = tenants.realm().worker();
    let open = async |wire: &str, payload: &[u8]| {
        worker.open(&JobTicket::<Ingest>::from_wire(wire), payload.to_vec()).await.map(drop)
    };
    let fresh = || acme.ticket::<Ingest>(b"p", MINUTE).unwrap().to_wire();

    // Altered: every byte of the text in turn.
    let wire = fresh();
    for at in 5..wire.len() {
        let mut bytes = wire.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let altered = String::from_utf8(bytes).unwrap();
        let denial = open(&altered, b"p").await.unwrap_err();
        assert!(
            matches!(denial, Denial::Ticket(TicketFault::Altered | TicketFault::ForeignRealm)),
            "byte {at}: {denial:?}"
        );
    }
    open(&wire, b"p").await.expect("none of that used it up");

    let repeated = acme.ticket::<Reindex>(b"p", MINUTE).unwrap().to_wire();
    let elsewhere = acme.ticket::<IngestElsewhere>(b"p", MINUTE).unwrap().to_wire();
    let foreign = other.context("acme").await.ticket::<Ingest>(b"p", MINUTE).unwrap().to_wire();
    let cases: Vec<(&str, String, &[u8], &str)> = vec![
        ("another kind", repeated.clone(), b"p", "ticket.wrong_kind"),
        ("another queue", elsewhere, b"p", "ticket.wrong_queue"),
        ("another realm of the same name", foreign, b"p", "ticket.foreign_realm"),
        ("another payload", fresh(), b"q", "ticket.wrong_payload"),
        ("a longer payload", fresh(), b"p\0", "ticket.wrong_payload"),
        ("no payload", fresh(), b"", "ticket.wrong_payload"),
        ("used before", wire.clone(), b"p", "ticket.replayed"),
        ("cut short", wire[..wire.len() - 4].to_owned(), b"p", "ticket.altered"),
        ("an empty seal", "tkt1.".to_owned(), b"p", "ticket.altered"),
        ("no ticket at all", tenants.token("acme"), b"p", "ticket.altered"),
    ];
    for (what, wire, payload, rule) in cases {
        let denial = open(&wire, payload).await.expect_err(what);
        assert_eq!(denial.rule(), rule, "{what}");
    }
    let twice = JobTicket::<Reindex>::from_wire(&repeated);
    worker.open(&twice, b"p".to_vec()).await.unwrap();
    worker.open(&twice, b"p".to_vec()).await.expect("a repeatable ticket opens again");

    let late = fresh();
    tenants.clock().advance(MINUTE);
    assert_eq!(open(&late, b"p").await.unwrap_err(), TicketFault::Expired.into());
    let rules = tenants.denied_rules().await;
    for rule in ["ticket.altered", "ticket.wrong_kind", "ticket.wrong_payload", "ticket.replayed", "ticket.expired"] {
        assert!(rules.iter().any(|r| r == rule), "{rule} is not on record");
    }
}

#[tokio::test]
async fn the_tenants_standing_counts_when_the_ticket_is_opened() {
    let tenants = TestTenants::new().await;
    let (acme, globex) = (tenants.context("acme").await, tenants.context("globex").await);
    let (a, g) = (acme.ticket::<Ingest>(b"p", MINUTE).unwrap(), globex.ticket::<Ingest>(b"p", MINUTE).unwrap());
    tenants.suspend("acme");
    tenants.erase("globex");
    let worker = tenants.realm().worker();
    assert_eq!(worker.open(&a, b"p".to_vec()).await.unwrap_err(), Denial::TenantSuspended);
    assert_eq!(worker.open(&g, b"p".to_vec()).await.unwrap_err(), Denial::TenantErased);
    tenants.directory().resume(&tenancy_core::TenantId::parse("acme").unwrap()).unwrap();
    worker.open(&a, b"p".to_vec()).await.expect("a refusal before the ledger does not use it up");
}

#[tokio::test]
async fn a_ticket_lives_no_longer_than_its_kind_or_its_parent() {
    let tenants = TestTenants::new().await;
    let acme = tenants.context("acme").await;
    for ttl in [Duration::ZERO, Duration::from_secs(3601)] {
        assert_eq!(acme.ticket::<Ingest>(b"p", ttl).unwrap_err(), TicketFault::TooLong.into(), "{ttl:?}");
    }
    let parent = acme.ticket::<Ingest>(b"p", MINUTE).unwrap();
    let job = tenants.realm().worker().open(&parent, b"p".to_vec()).await.unwrap();
    assert!(job.context().ticket::<Reindex>(b"child", Duration::from_secs(30)).is_ok());
    let longer = job.context().ticket::<Reindex>(b"child", Duration::from_secs(61)).unwrap_err();
    assert_eq!(longer, TicketFault::TooLong.into());
}

#[tokio::test]
async fn the_edge_refuses_a_ticket() {
    let tenants = TestTenants::new().await;
    let wire = tenants.context("acme").await.ticket::<Ingest>(b"p", MINUTE).unwrap().to_wire();
    for credential in [Credential::bearer(wire.clone()), Credential::bearer(format!("Bearer {wire}"))] {
        let denial = tenants.realm().authenticate(&credential).await.unwrap_err();
        assert_eq!(denial, CredentialFault::TicketAtEdge.into());
    }
    let as_key = tenants.realm().authenticate(&Credential::api_key(wire)).await.unwrap_err();
    assert_eq!(as_key, CredentialFault::Malformed.into());
}

#[tokio::test]
async fn a_ticket_shows_nothing_of_what_it_holds() {
    let tenants = TestTenants::new().await;
    let ticket = tenants.context("acme").await.ticket::<Ingest>(b"secret payload", MINUTE).unwrap();
    let bytes = data_encoding::BASE64URL_NOPAD.decode(&ticket.to_wire().as_bytes()[5..]).unwrap();
    for word in ["acme", "user@", "ingest", "secret"] {
        assert!(!String::from_utf8_lossy(&bytes).contains(word), "{word}");
        assert!(!format!("{ticket:?}").contains("user@"));
    }
}

#[tokio::test]
async fn a_job_never_gets_more_than_its_enqueuer_had_even_if_the_role_grew() {
    let tenants = TestTenants::new().await;
    let reader = tenants.context_of("acme", "reader-1", &["reader"]).await;
    let ticket = reader.ticket::<Reindex>(b"p", MINUTE).unwrap();
    let issuer = tenants.issuer().issuer();
    // The role may do everything now; then nothing at all.
    tenants.faults().lie(reader.record().clone().role(issuer, "reader", ["manage-keys"]));
    let job = tenants.realm().worker().open(&ticket, b"p".to_vec()).await.unwrap();
    assert!(job.context().authorize::<UseModel>().is_ok());
    assert_eq!(job.context().authorize::<ManageKeys>().unwrap_err(), Denial::PermissionMissing);
    let born = std::time::SystemTime::now() - MINUTE;
    let stripped = tenancy_core::TenantRecord::new(reader.tenant().clone(), reader.life(), born);
    tenants.faults().lie(stripped);
    let job = tenants.realm().worker().open(&ticket, b"p".to_vec()).await.unwrap();
    assert_eq!(job.context().authorize::<UseModel>().unwrap_err(), Denial::PermissionMissing);
}

#[tokio::test]
async fn a_ticket_of_the_second_in_which_the_life_began_is_good_and_an_earlier_one_is_not() {
    let tenants = TestTenants::builder().clock().build().await;
    let acme = tenants.context("acme").await;
    let ticket = acme.ticket::<Reindex>(b"p", MINUTE).unwrap();
    let now = tenancy_core::Clock::now(tenants.clock());
    let reborn = |born| tenancy_core::TenantRecord::new(acme.tenant().clone(), acme.life(), born);
    tenants.faults().lie(reborn(now));
    assert!(tenants.realm().worker().open(&ticket, b"p".to_vec()).await.is_ok());
    tenants.faults().lie(reborn(now + Duration::from_secs(1)));
    let denial = tenants.realm().worker().open(&ticket, b"p".to_vec()).await.unwrap_err();
    assert_eq!(denial, CredentialFault::BeforeLife.into());
}

/// The same name and queue with looser rules, as a careless second definition would have.
struct LooseIngest;
impl JobKind for LooseIngest {
    const NAME: &'static str = "ingest";
    const QUEUE: &'static str = "jobs";
    const MAX_TTL: Duration = Duration::from_secs(7200);
    const USE: TicketUse = TicketUse::Repeatable;
}

#[tokio::test]
async fn of_two_kinds_of_one_name_the_stricter_rules_hold() {
    let tenants = TestTenants::new().await;
    let acme = tenants.context("acme").await;
    let worker = tenants.realm().worker();
    let strict = acme.ticket::<Ingest>(b"p", MINUTE).unwrap().to_wire();
    worker.open(&JobTicket::<LooseIngest>::from_wire(&strict), b"p".to_vec()).await.expect("the first use");
    for _ in 0..2 {
        let again = worker.open(&JobTicket::<LooseIngest>::from_wire(&strict), b"p".to_vec()).await;
        assert_eq!(again.unwrap_err(), TicketFault::Replayed.into());
    }
    let loose = acme.ticket::<LooseIngest>(b"p", MINUTE).unwrap().to_wire();
    worker.open(&JobTicket::<Ingest>::from_wire(&loose), b"p".to_vec()).await.expect("the first use");
    let again = worker.open(&JobTicket::<Ingest>::from_wire(&loose), b"p".to_vec()).await;
    assert_eq!(again.unwrap_err(), TicketFault::Replayed.into());
    let long = acme.ticket::<LooseIngest>(b"p", Duration::from_secs(7000)).unwrap().to_wire();
    let opened = worker.open(&JobTicket::<Ingest>::from_wire(&long), b"p".to_vec()).await;
    assert_eq!(opened.unwrap_err(), TicketFault::TooLong.into());
}
