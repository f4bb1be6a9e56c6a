//! Directory, keys, used tickets and corpus versions on Postgres, used by a real realm.

use std::time::{Duration, SystemTime};

use secrecy::ExposeSecret;
use sqlx::Connection;
use tenancy_core::permission::ManageKeys;
use tenancy_core::{
    CellName, Credential, Denial, DirectoryConflict, Isolation, JobKind, JobTicket, Life, LocalKeyProvider, MemorySink,
    Placement, Plan, Realm, RealmName, RootKey, RowKey, ServiceClass, SubjectId, TenantId, TenantRecord, TicketFault,
    TicketUse,
};
use tenancy_pg::{ControlStore, PgError, migrate_control};
use tenancy_testkit::{CONTROL, TestDatabase, TestIssuer, ThrowawayPostgres};

pub(crate) const ROOT: &str = "1f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100";

struct Ingest;

impl JobKind for Ingest {
    const NAME: &'static str = "ingest";
    const QUEUE: &'static str = "default";
    const MAX_TTL: Duration = Duration::from_secs(3600);
    const USE: TicketUse = TicketUse::Once;
}

async fn store() -> (TestDatabase, ControlStore) {
    let server = ThrowawayPostgres::shared().await.fresh_database().await;
    for _again in 0..2 {
        migrate_control(server.owner_options(), CONTROL).await.unwrap();
    }
    let control = ControlStore::connect(server.control_options()).await.unwrap();
    (server, control)
}

fn id(name: &str) -> TenantId {
    TenantId::parse(name).unwrap()
}

fn born() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(1_700_000_000_000_001)
}

pub(crate) async fn realm(control: &ControlStore, issuer: &TestIssuer, root: &str) -> Realm {
    Realm::builder(RealmName::parse("control").unwrap())
        .directory(control.directory())
        .issuers([issuer.for_tenants()])
        .no_operators()
        .keys(LocalKeyProvider::new(RootKey::parse(root).unwrap()), control.keys())
        .audit(MemorySink::new())
        .ticket_ledger(control.ledger())
        .corpus_versions(control.versions())
        .build()
        .await
        .unwrap()
}

#[tokio::test]
async fn a_realm_runs_on_control_stores_alone() {
    let (_server, control) = store().await;
    let issuer = TestIssuer::new("https://login.test", "rag");
    let directory = control.directory();
    let mut placement = Placement::default();
    placement.isolation = Isolation::DedicatedPool;
    placement.cells.insert("postgres".to_owned(), CellName::parse("blue").unwrap());
    let record = TenantRecord::new(id("acme"), Life::random(), born())
        .claim(issuer.issuer(), "acme")
        .claim(issuer.issuer(), "acme-legacy")
        .role(issuer.issuer(), "editor", ["manage-keys", "ingest", "use-model"])
        .role(TenantRecord::API_KEYS, "reader", ["use-model"])
        .row_key_of(RowKey::BigInt(17))
        .plan_of(Plan::new("business", ServiceClass::Enterprise))
        .placed(placement)
        .training_consent_of(true);
    directory.add(&record).await.unwrap();

    let root = ROOT;
    let one = realm(&control, &issuer, root).await;
    let two = realm(&control, &issuer, root).await;
    assert_eq!(one.tag(), two.tag(), "both found the same keys");

    let token = issuer.sign(&issuer.claims("u", Some("acme"), &["editor"], SystemTime::now()));
    let ctx = one.authenticate(&Credential::bearer(token.clone())).await.unwrap();
    assert_eq!(*ctx.record(), record, "every field came back");
    let legacy = issuer.sign(&issuer.claims("u", Some("acme-legacy"), &[], SystemTime::now()));
    assert_eq!(one.authenticate(&Credential::bearer(legacy)).await.unwrap().life(), ctx.life());

    let proof = ctx.authorize::<ManageKeys>().unwrap();
    let issued = one.issue_api_key(&proof, SubjectId::parse("svc").unwrap(), &["reader"], None).unwrap();
    directory.put_api_key(issued.record()).await.unwrap();
    let by_key = Credential::api_key(issued.secret().expose_secret());
    assert_eq!(two.authenticate(&by_key).await.unwrap().life(), ctx.life());
    let mut revoked = issued.record().clone();
    revoked.revoke();
    directory.put_api_key(&revoked).await.unwrap();
    directory.put_api_key(issued.record()).await.unwrap();
    let refused = two.authenticate(&by_key).await.unwrap_err();
    assert_eq!(refused.rule(), "credential.api_key_revoked", "an old copy does not bring it back");

    let ticket: JobTicket<Ingest> = ctx.ticket(b"work", Duration::from_secs(60)).unwrap();
    let wire = ticket.to_wire();
    let open =
        async |realm: &Realm| realm.worker().open::<Ingest>(&JobTicket::from_wire(&wire), b"work".to_vec()).await;
    assert_eq!(open(&two).await.unwrap().context().life(), ctx.life());
    assert_eq!(open(&one).await.unwrap_err(), Denial::Ticket(TicketFault::Replayed), "in another process too");

    directory.erase(&id("acme")).await.unwrap();
    one.hint(ctx.life());
    let refused = two.authenticate(&Credential::bearer(token)).await.unwrap_err();
    assert_eq!(refused, Denial::TenantErased);
}

#[tokio::test]
async fn collisions_are_refused_by_the_schema() {
    let (_server, control) = store().await;
    let directory = control.directory();
    let record = |name: &str| TenantRecord::new(id(name), Life::random(), born());
    let first = record("acme").claim("iss", "a");
    directory.add(&first).await.unwrap();
    for (what, taken, conflict) in [
        ("the same name", record("acme"), DirectoryConflict::Name),
        ("the name in another case", record("ACME"), DirectoryConflict::Name),
        ("the claim", record("b").claim("iss", "a"), DirectoryConflict::Claim),
        ("one claim twice", record("c").claim("iss", "c").claim("iss", "c"), DirectoryConflict::Claim),
        (
            "the life",
            TenantRecord::new(id("d"), first.life(), born()).row_key_of(RowKey::BigInt(1)),
            DirectoryConflict::Life,
        ),
        ("the row key", record("e").row_key_of(first.row_key().clone()), DirectoryConflict::RowKey),
    ] {
        let refused = directory.add(&taken).await.unwrap_err();
        assert!(matches!(refused, PgError::Conflict(found) if found == conflict), "{what}: {refused:?}");
    }
    directory.add(&record("globex").claim("iss", "A").claim("other", "a")).await.unwrap();
    let taken = directory.rename(&id("globex"), &id("Acme")).await.unwrap_err();
    assert!(matches!(taken, PgError::Conflict(DirectoryConflict::Name)));
    let unknown = directory.suspend(&id("nobody")).await.unwrap_err();
    assert!(matches!(unknown, PgError::Conflict(DirectoryConflict::Unknown)));

    directory.erase(&id("acme")).await.unwrap();
    assert!(matches!(directory.resume(&id("acme")).await, Err(PgError::Conflict(DirectoryConflict::Unknown))));
    let old_life = TenantRecord::new(id("acme"), first.life(), born()).row_key_of(RowKey::BigInt(2));
    assert!(matches!(directory.add(&old_life).await, Err(PgError::Conflict(DirectoryConflict::Life))));
    let old_key = record("acme").row_key_of(first.row_key().clone());
    assert!(matches!(directory.add(&old_key).await, Err(PgError::Conflict(DirectoryConflict::RowKey))));
    directory.add(&record("acme").claim("iss", "a")).await.unwrap();
    directory.rename(&id("globex"), &id("initech")).await.unwrap();
}

/// Sweeping comes after the ticket was taken: it can't take it back.
#[tokio::test]
async fn a_ticket_is_redeemed_whatever_becomes_of_the_sweep() {
    let (server, control) = store().await;
    server
        .run(
            "create function no_sweep() returns trigger language plpgsql as $$ begin raise 'no'; end $$;
             create trigger no_sweep before delete on tenancy_control.ticket execute function no_sweep();",
        )
        .await;
    let issuer = TestIssuer::new("https://login.test", "rag");
    let record = TenantRecord::new(id("acme"), Life::random(), born()).claim(issuer.issuer(), "acme").role(
        issuer.issuer(),
        "editor",
        ["ingest"],
    );
    control.directory().add(&record).await.unwrap();
    let realm = realm(&control, &issuer, ROOT).await;
    let token = issuer.sign(&issuer.claims("u", Some("acme"), &["editor"], SystemTime::now()));
    let swept = "select count(*) from tenancy_control.ticket where id like '00%'";
    for _until_one_sweeps in 0..40 {
        let ctx = realm.authenticate(&Credential::bearer(token.clone())).await.unwrap();
        for _ in 0..100 {
            let wire = ctx.ticket::<Ingest>(b"work", Duration::from_secs(60)).unwrap().to_wire();
            realm.worker().open::<Ingest>(&JobTicket::from_wire(&wire), b"work".to_vec()).await.unwrap();
        }
        if crate::common::scalar(&server.superuser_options(), swept).await > 0 {
            return;
        }
    }
    panic!("none of 4000 ids has swept");
}

/// Two processes race for a realm's keys; both use the winner's.
#[tokio::test]
async fn racing_processes_get_one_set_of_keys_and_a_destroyed_life_none() {
    let (server, control) = store().await;
    let issuer = TestIssuer::new("https://login.test", "rag");
    let root = ROOT;
    let life = Life::random();
    let record = TenantRecord::new(id("acme"), life, born()).claim(issuer.issuer(), "acme");
    control.directory().add(&record).await.unwrap();
    let realms = futures_util::future::join_all((0..4).map(|_| realm(&control, &issuer, root))).await;
    assert!(realms.iter().all(|realm| realm.tag() == realms[0].tag()));
    let token = issuer.sign(&issuer.claims("u", Some("acme"), &[], SystemTime::now()));
    assert!(realms[0].authenticate(&Credential::bearer(token.clone())).await.is_ok());

    let destroyed = format!("insert into tenancy_control.tombstone values ('control', '{}')", life.uuid().simple());
    server.run(&destroyed).await;
    let fresh = realm(&control, &issuer, root).await;
    let refused = fresh.authenticate(&Credential::bearer(token)).await.unwrap_err();
    assert_eq!(refused, Denial::KeyDestroyed);
}

#[tokio::test]
async fn the_control_role_is_plain_and_the_app_role_sees_nothing_of_it() {
    let (server, _control) = store().await;
    let refused = ControlStore::connect(server.superuser_options()).await.unwrap_err();
    assert!(matches!(refused, PgError::ControlRole));
    let mut app = sqlx::postgres::PgConnection::connect_with(&server.app_options()).await.unwrap();
    for table in ["tenant", "claim", "api_key", "key", "tombstone", "ticket", "corpus", "corpus_write"] {
        let sql = sqlx::AssertSqlSafe(format!("select * from tenancy_control.{table}"));
        let refused = sqlx::query(sql).execute(&mut app).await.unwrap_err();
        assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "42501", "{table}");
    }
}

#[tokio::test]
async fn a_version_is_hidden_while_a_write_is_under_way_and_new_after_it() {
    let (server, control) = store().await;
    let issuer = TestIssuer::new("https://login.test", "rag");
    for name in ["acme", "globex"] {
        let record = TenantRecord::new(id(name), Life::random(), born()).claim(issuer.issuer(), name);
        control.directory().add(&record).await.unwrap();
    }
    let realm = realm(&control, &issuer, ROOT).await;
    let gate = tenancy_core::Gate::new(&realm, tenancy_core::StoreName::new("test"));
    let pass = async |name: &str| {
        let token = issuer.sign(&issuer.claims("u", Some(name), &[], SystemTime::now()));
        gate.scoped(&realm.authenticate(&Credential::bearer(token)).await.unwrap()).unwrap()
    };
    let (acme, globex) = (pass("acme").await, pass("globex").await);
    let version = async |pass: &tenancy_core::Pass| {
        let entered = pass.enter("read").await.unwrap();
        let version = entered.corpus_version().await.unwrap();
        entered.done();
        version
    };
    let before = version(&acme).await.unwrap();
    let other = version(&globex).await.unwrap();
    assert_ne!(before, other);
    assert_eq!(version(&acme).await, Some(before));

    let entered = acme.enter("write").await.unwrap();
    let (one, two) = (entered.begin_corpus_write().await.unwrap(), entered.begin_corpus_write().await.unwrap());
    assert_eq!(version(&acme).await, None);
    one.settle().await.unwrap();
    assert_eq!(version(&acme).await, None, "another write is still under way");
    two.settle().await.unwrap();
    let after = version(&acme).await.unwrap();
    assert_ne!(after, before);

    // Dropped half-way, a write leaves no transaction open for whoever gets the connection next.
    let open = "select count(*) from pg_stat_activity where usename = 'control' and datname = current_database()
                and state like 'idle in transaction%'";
    tenancy_testkit::drop_at_every_poll(
        || entered.begin_corpus_write(),
        async |polls, _write| {
            let mut left = 1;
            for _wait in 0..40 {
                left = crate::common::scalar(&server.superuser_options(), open).await;
                if left == 0 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            assert_eq!(left, 0, "dropped after poll {polls}");
            server.run("delete from tenancy_control.corpus_write").await;
            assert!(version(&acme).await.is_some());
        },
    )
    .await;
    let after = version(&acme).await.unwrap();

    let crashed = entered.begin_corpus_write().await.unwrap();
    assert_eq!(version(&acme).await, None);
    server.run("update tenancy_control.corpus_write set began = began - interval '61 seconds'").await;
    let settled = version(&acme).await.unwrap();
    assert_ne!(settled, after, "what the crashed write did is not known");
    drop(crashed);
    entered.done();
    assert_eq!(version(&globex).await, Some(other), "the neighbour's version stays");
}

/// A hint makes the next question come at once; without one the old answer would have held for an hour.
#[tokio::test]
async fn word_of_a_change_makes_fences_look_again() {
    let (server, control) = store().await;
    let issuer = TestIssuer::new("https://login.test", "rag");
    let record = TenantRecord::new(id("acme"), Life::random(), born()).claim(issuer.issuer(), "acme");
    control.directory().add(&record).await.unwrap();
    let realm = Realm::builder(RealmName::parse("control").unwrap())
        .directory(control.directory())
        .issuers([issuer.for_tenants()])
        .no_operators()
        .keys(LocalKeyProvider::new(RootKey::parse(ROOT).unwrap()), control.keys())
        .audit(MemorySink::new())
        .fence_age(Duration::from_secs(7200))
        .build()
        .await
        .unwrap();
    let token = issuer.sign(&issuer.claims("u", Some("acme"), &[], SystemTime::now()));
    let ctx = realm.authenticate(&Credential::bearer(token)).await.unwrap();
    let word = control.hints(&realm).await.unwrap();
    for payload in ["", "acme", "00000000-0000-4000-8000-000000000001"] {
        server.run(&format!("select pg_notify('tenancy_directory', '{payload}')")).await;
    }
    ctx.refresh().await.unwrap();
    let other = ControlStore::connect(server.control_options()).await.unwrap();
    other.directory().suspend(&id("acme")).await.unwrap();
    let mut refused = None;
    for _poll in 0..1000 {
        refused = ctx.refresh().await.err();
        if refused.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(refused, Some(Denial::TenantSuspended));
    drop(word);
    other.directory().resume(&id("acme")).await.unwrap();
}
