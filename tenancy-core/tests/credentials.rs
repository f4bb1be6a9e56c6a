//! B1 and B2: what a credential must be, through the realm and on record.
#![expect(clippy::unwrap_used, reason = "a test stops where it can't go on")]

use std::time::{Duration, SystemTime};

use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tenancy_core::permission::ManageKeys;
use tenancy_core::{Credential, CredentialFault, Denial, Face, Selection, SubjectId, TenantClaim, TenantId};
use tenancy_testkit::{Fault, TestIssuer, TestTenants};

/// One changed claim, the mechanism it tests, and the rule that must be on record.
type Case = (&'static str, fn(&mut Value), &'static str);

const CLAIMS: &[Case] = &[
    // Listed.
    ("aud missing", |c| drop(remove(c, "aud")), "credential.audience"),
    ("iss missing", |c| drop(remove(c, "iss")), "credential.issuer_missing"),
    ("exp missing", |c| drop(remove(c, "exp")), "credential.expiry_missing"),
    ("exp as text", |c| c["exp"] = json!("2099"), "credential.expiry_missing"),
    ("iss as a list", |c| c["iss"] = json!(["https://evil", "https://login.test"]), "credential.issuer_missing"),
    ("tenant claim missing", |c| drop(remove(c, "tenant")), "credential.tenant_claim_missing"),
    ("tenant claim null", |c| c["tenant"] = Value::Null, "credential.tenant_claim_malformed"),
    ("tenant claim a list", |c| c["tenant"] = json!(["acme"]), "credential.tenant_claim_malformed"),
    ("tenant claim empty", |c| c["tenant"] = json!(""), "credential.tenant_claim_malformed"),
    ("tenant claim in another case", |c| c["tenant"] = json!("Acme"), "tenant.unknown"),
    ("not yet valid", |c| c["nbf"] = json!(now() + 120), "credential.not_yet_valid"),
    ("expired beyond the leeway", |c| c["exp"] = json!(now() - 120), "credential.expired"),
    // Relatives.
    ("aud another service's", |c| c["aud"] = json!("billing"), "credential.audience"),
    ("aud a list without ours", |c| c["aud"] = json!(["billing", "mail"]), "credential.audience"),
    ("aud a number", |c| c["aud"] = json!(7), "credential.audience"),
    ("aud ours in another case", |c| c["aud"] = json!("RAG"), "credential.audience"),
    ("iss with a slash more", |c| c["iss"] = json!("https://login.test/"), "credential.issuer_unknown"),
    ("iss the operators'", |c| c["iss"] = json!("https://staff.test"), "credential.issuer_unknown"),
    ("exp negative", |c| c["exp"] = json!(-5), "credential.expiry_missing"),
    ("exp null", |c| c["exp"] = Value::Null, "credential.expiry_missing"),
    ("iat missing", |c| drop(remove(c, "iat")), "credential.issued_at_missing"),
    ("iat in the future", |c| c["iat"] = json!(now() + 600), "credential.not_yet_valid"),
    ("iat before the life began", |c| c["iat"] = json!(now() - 26 * 3600), "credential.too_old"),
    ("nbf as text", |c| c["nbf"] = json!("now"), "credential.not_yet_valid"),
    ("sub missing", |c| drop(remove(c, "sub")), "credential.subject"),
    ("sub empty", |c| c["sub"] = json!(""), "credential.subject"),
    ("sub with a control character", |c| c["sub"] = json!("a\u{0}b"), "credential.subject"),
    ("tenant claim under another name's case", |c| swap(c, "tenant", "Tenant"), "credential.tenant_claim_missing"),
    ("tenant claim a number", |c| c["tenant"] = json!(1), "credential.tenant_claim_malformed"),
    ("tenant claim an object", |c| c["tenant"] = json!({ "id": "acme" }), "credential.tenant_claim_malformed"),
    ("tenant claim with a space", |c| c["tenant"] = json!("acme "), "tenant.unknown"),
    ("tenant claim nobody's", |c| c["tenant"] = json!("initech"), "tenant.unknown"),
    ("an actor nobody allowed", |c| c["act"] = json!({ "sub": "support" }), "credential.actor"),
];

#[tokio::test]
async fn every_faulty_claim_is_refused_with_its_own_rule_and_one_face() {
    let tenants = TestTenants::new().await;
    let good = tenants.issuer().claims("user@acme", Some("acme"), &["editor"], SystemTime::now());
    assert!(authenticate(&tenants, &tenants.issuer().sign(&good)).await.is_ok(), "the positive control");
    for (what, change, rule) in CLAIMS {
        let mut claims = good.clone();
        change(&mut claims);
        let denial = authenticate(&tenants, &tenants.issuer().sign(&claims)).await.expect_err(what);
        assert_eq!(denial.rule(), *rule, "{what}");
        assert_eq!(denial.face(), Face::Unauthenticated, "{what}");
        assert!(tenants.denied_rules().await.iter().any(|r| r == rule), "{what}: no record");
    }
}

#[tokio::test]
async fn expired_within_the_leeway_is_still_good_and_its_context_is_short() {
    let tenants = TestTenants::new().await;
    let mut claims = tenants.issuer().claims("u", Some("acme"), &[], SystemTime::now());
    claims["exp"] = json!(now() - 5);
    let ctx = authenticate(&tenants, &tenants.issuer().sign(&claims)).await.unwrap();
    assert!(ctx.remaining() <= Duration::from_secs(30), "{:?}", ctx.remaining());
}

#[tokio::test]
async fn a_token_may_be_a_day_old_and_an_operators_an_hour() {
    let tenants = TestTenants::new().await;
    let mut claims = tenants.issuer().claims("u", Some("acme"), &[], SystemTime::now());
    for (age, good) in [(2 * 3600, true), (23 * 3600, true), (25 * 3600, false)] {
        claims["iat"] = json!(now() - age);
        assert_eq!(authenticate(&tenants, &tenants.issuer().sign(&claims)).await.is_ok(), good, "{age} s");
    }
    let mut claims = tenants.operators().claims("operator-1", None, &[], SystemTime::now());
    for (age, good) in [(1800, true), (2 * 3600, false)] {
        claims["iat"] = json!(now() - age);
        let credential = Credential::bearer(tenants.operators().sign(&claims));
        let acme = tenancy_core::Reach::One(TenantId::parse("acme").unwrap());
        let minute = Duration::from_secs(60);
        let grant = tenants.realm().operators().open(&credential, "looking into it", "CASE-1", acme, minute).await;
        assert_eq!(grant.is_ok(), good, "{age} s");
    }
}

#[tokio::test]
async fn a_token_must_be_signed_by_its_issuer() {
    let tenants = TestTenants::new().await;
    let token = tenants.token("acme");
    let parts: Vec<&str> = token.split('.').collect();
    let stranger = TestIssuer::new("https://login.test", "rag");
    let none = data_encoding::BASE64URL_NOPAD.encode(br#"{"alg":"none","kid":"key-1"}"#);
    let other_kid = data_encoding::BASE64URL_NOPAD.encode(br#"{"alg":"EdDSA","kid":"../../key-1"}"#);
    let long_kid = format!(r#"{{"alg":"EdDSA","kid":"{}"}}"#, "k".repeat(10_000));
    let hmac = data_encoding::BASE64URL_NOPAD.encode(br#"{"alg":"HS256","kid":"key-1"}"#);
    let crit = data_encoding::BASE64URL_NOPAD.encode(br#"{"alg":"EdDSA","kid":"key-1","crit":["exp"]}"#);
    let cases = [
        (
            "another key of the same name",
            stranger.sign(&stranger.claims("u", Some("acme"), &[], SystemTime::now())),
            "credential.signature",
        ),
        ("alg none with a signature", format!("{none}.{}.{}", parts[1], parts[2]), "credential.algorithm"),
        ("alg none without one", format!("{none}.{}.", parts[1]), "credential.algorithm"),
        ("HS256 for an asymmetric key", format!("{hmac}.{}.{}", parts[1], parts[2]), "credential.algorithm"),
        ("a kid with a path", format!("{other_kid}.{}.{}", parts[1], parts[2]), "credential.key_unknown"),
        (
            "a kid of 10 kB",
            format!("{}.{}.{}", data_encoding::BASE64URL_NOPAD.encode(long_kid.as_bytes()), parts[1], parts[2]),
            "credential.key_unknown",
        ),
        ("a critical header", format!("{crit}.{}.{}", parts[1], parts[2]), "credential.critical_header"),
        ("two parts", format!("{}.{}", parts[0], parts[1]), "credential.malformed"),
        ("four parts", format!("{token}.x"), "credential.malformed"),
        ("not base64", "a b.c d.e f".to_owned(), "credential.malformed"),
        ("empty", String::new(), "credential.malformed"),
        ("an API key as a bearer", "tk1_0000000000000000_x_00000000".to_owned(), "credential.malformed"),
        ("a job ticket as a bearer", "tkt1.AAAA".to_owned(), "credential.ticket_at_edge"),
    ];
    for (what, text, rule) in cases {
        let denial = authenticate(&tenants, &text).await.expect_err(what);
        assert_eq!(denial.rule(), rule, "{what}");
        assert!(tenants.denied_rules().await.iter().any(|r| r == rule), "{what}: no record");
    }
    assert!(authenticate(&tenants, &token).await.is_ok());
}

#[tokio::test]
async fn the_same_subject_of_two_issuers_is_two_subjects() {
    let tenants = TestTenants::new().await;
    let second = TestIssuer::new("https://partner.test", "rag");
    let claims = second.claims("user@acme", Some("acme"), &["editor"], SystemTime::now());
    let denial = authenticate(&tenants, &second.sign(&claims)).await.unwrap_err();
    assert_eq!(denial, CredentialFault::IssuerUnknown.into());
}

#[tokio::test]
async fn a_membership_is_picked_among_the_verified_ones_only() {
    let many = TestIssuer::new("https://partner.test", "rag");
    let directory = tenancy_core::StaticDirectory::new();
    for name in ["acme", "globex", "initech"] {
        let record = tenancy_core::TenantRecord::new(
            TenantId::parse(name).unwrap(),
            tenancy_core::Life::random(),
            SystemTime::now() - Duration::from_secs(60),
        );
        directory.add(record.claim(many.issuer(), name)).unwrap();
    }
    let realm = tenancy_core::Realm::builder(tenancy_core::RealmName::parse("many").unwrap())
        .directory(directory)
        .issuers([many.for_tenants().tenant_claim(TenantClaim::Many("tenants".into())).allow_actor()])
        .no_operators()
        .keys(
            tenancy_core::LocalKeyProvider::new(tenancy_core::RootKey::generate()),
            tenancy_core::MemoryKeyStore::new(),
        )
        .audit(tenancy_core::MemorySink::new())
        .build()
        .await
        .unwrap();
    let mut claims = many.claims("user-1", None, &[], SystemTime::now());
    claims["tenants"] = json!(["acme", "globex"]);
    let token = many.sign(&claims);
    let select = async |selection| {
        let verified = realm.verify(&Credential::bearer(token.clone())).await.unwrap();
        realm.context(verified, selection).await
    };
    assert_eq!(select(Selection::Membership("acme")).await.unwrap().tenant().as_str(), "acme");
    assert_eq!(select(Selection::Membership("globex")).await.unwrap().tenant().as_str(), "globex");
    for wrong in [
        Selection::Only,
        Selection::Membership("initech"),
        Selection::Membership("Acme"),
        Selection::Membership("acme "),
        Selection::Membership(""),
        Selection::Membership("acme,globex"),
    ] {
        assert_eq!(select(wrong).await.unwrap_err(), Denial::NotAMember, "{wrong:?}");
    }
    for malformed in [json!("acme"), json!([]), json!(["acme", 7]), json!(["acme", "acme"]), Value::Null] {
        claims["tenants"] = malformed.clone();
        let denial = realm.verify(&Credential::bearer(many.sign(&claims))).await.unwrap_err();
        assert_eq!(denial, CredentialFault::TenantClaimMalformed.into(), "{malformed}");
    }
    // Impersonation keeps both apart.
    claims["tenants"] = json!(["acme"]);
    claims["act"] = json!({ "sub": "support-7" });
    let ctx = realm.authenticate(&Credential::bearer(many.sign(&claims))).await.unwrap();
    assert_eq!((ctx.actor().as_str(), ctx.subject().as_str()), ("support-7", "user-1"));
    claims["act"] = json!({ "sub": "support-7", "act": { "sub": "deeper" } });
    let denial = realm.verify(&Credential::bearer(many.sign(&claims))).await.unwrap_err();
    assert_eq!(denial, CredentialFault::Actor.into());
}

#[tokio::test]
async fn suspended_erased_and_unborn_tenants_are_refused() {
    let tenants = TestTenants::new().await;
    let (acme, globex) = (tenants.token("acme"), tenants.token("globex"));
    tenants.suspend("acme");
    tenants.erase("globex");
    assert_eq!(authenticate(&tenants, &acme).await.unwrap_err(), Denial::TenantSuspended);
    assert_eq!(authenticate(&tenants, &globex).await.unwrap_err(), Denial::TenantErased);
    // The name comes back with a new life: tokens of the old one stay dead.
    let id = TenantId::parse("globex").unwrap();
    let reborn = SystemTime::now() + Duration::from_secs(2);
    let record = tenancy_core::TenantRecord::new(id, tenancy_core::Life::random(), reborn)
        .claim(tenants.issuer().issuer(), "globex");
    tenants.directory().add(record).unwrap();
    assert_eq!(authenticate(&tenants, &globex).await.unwrap_err(), CredentialFault::BeforeLife.into());
    // Nor does a clock that runs ahead help an old token into the new life.
    let mut ahead = tenants.issuer().claims("old-customer", Some("initech"), &[], SystemTime::now());
    ahead["iat"] = json!(now() + 25);
    let token = tenants.issuer().sign(&ahead);
    let id = TenantId::parse("initech").unwrap();
    let record = tenancy_core::TenantRecord::new(id, tenancy_core::Life::random(), SystemTime::now());
    tenants.directory().add(record.claim(tenants.issuer().issuer(), "initech")).unwrap();
    assert_eq!(authenticate(&tenants, &token).await.unwrap_err(), CredentialFault::BeforeLife.into());
    let records = tenants.audit().await;
    let attributed = |rule: &str| records.iter().any(|r| r.rule() == Some(rule) && r.life().is_some());
    assert!(attributed("tenant.suspended") && attributed("tenant.erased") && attributed("credential.before_life"));
}

#[tokio::test]
async fn a_directory_that_fails_hangs_or_lies_gives_no_context() {
    let tenants = TestTenants::builder().build_with(|r| r.patience(Duration::from_millis(50))).await;
    let token = tenants.token("acme");
    assert!(authenticate(&tenants, &token).await.is_ok());
    for fault in [Fault::Error, Fault::Hang] {
        tenants.faults().set(fault);
        assert_eq!(authenticate(&tenants, &token).await.unwrap_err(), Denial::DirectoryUnavailable, "{fault:?}");
    }
    // It ignores what it was asked and answers with somebody else.
    let other = tenancy_core::TenantRecord::new(
        TenantId::parse("globex").unwrap(),
        tenancy_core::Life::random(),
        SystemTime::UNIX_EPOCH,
    );
    tenants.faults().lie(other.claim(tenants.issuer().issuer(), "globex"));
    assert_eq!(authenticate(&tenants, &token).await.unwrap_err(), Denial::DirectoryUnavailable);
    tenants.faults().set(Fault::None);
    assert!(authenticate(&tenants, &token).await.is_ok());
}

#[tokio::test]
async fn b2_api_keys() {
    let tenants = TestTenants::new().await;
    let acme = tenants.context("acme").await;
    let manage = acme.authorize::<ManageKeys>().unwrap();
    let subject = SubjectId::parse("ci-bot").unwrap();
    let issued = tenants.realm().issue_api_key(&manage, subject.clone(), &["reader"], None).unwrap();
    tenants.directory().put_api_key(issued.record().clone());
    let secret = issued.secret().expose_secret().to_owned();
    let present = async |text: &str| tenants.realm().authenticate(&Credential::api_key(text)).await;

    let ctx = present(&secret).await.unwrap();
    assert_eq!((ctx.tenant().as_str(), ctx.subject()), ("acme", &subject));
    assert!(ctx.authorize::<tenancy_core::permission::UseModel>().is_ok());
    assert_eq!(ctx.authorize::<ManageKeys>().unwrap_err(), Denial::PermissionMissing);

    let other = tenants.realm().issue_api_key(&manage, subject.clone(), &["reader"], None).unwrap();
    let other_secret = other.secret().expose_secret().to_owned();
    let stored = serde_json::to_string(issued.record()).unwrap();
    assert!(!stored.contains(&secret.splitn(3, '_').nth(2).unwrap()[..43]), "the stored form holds the secret");

    let parts: Vec<&str> = secret.split('_').collect();
    let unknown_asks = {
        let before = tenants.faults().asked();
        assert_eq!(present(&other_secret).await.unwrap_err(), CredentialFault::ApiKey.into(), "an unknown id");
        tenants.faults().asked() - before
    };
    let cases = [
        ("cut short", parts[..3].join("_")),
        ("the stored form as a key", format!("tk1_{}_{}_00000000", parts[1], "A".repeat(43))),
        ("with a space", format!("{secret} ")),
        ("in upper case", secret.to_uppercase()),
        ("another prefix", secret.replacen("tk1", "tk2", 1)),
        ("empty", String::new()),
    ];
    for (what, text) in &cases {
        assert_eq!(present(text).await.unwrap_err(), CredentialFault::Malformed.into(), "{what}");
    }
    // A known id with another key's secret, and a checksum that fits.
    let mut forged = other.record().clone();
    assert_ne!(forged.id(), issued.record().id());
    tenants.directory().put_api_key(forged.clone());
    let before = tenants.faults().asked();
    let wrong = swap_secret(&secret, &other_secret);
    assert_eq!(present(&wrong).await.unwrap_err(), CredentialFault::ApiKey.into(), "a wrong secret");
    assert_eq!(tenants.faults().asked() - before, unknown_asks, "unknown ids and wrong secrets take the same work");

    forged.revoke();
    tenants.directory().put_api_key(forged);
    assert_eq!(present(&other_secret).await.unwrap_err(), CredentialFault::ApiKeyRevoked.into());
    let past = Some(SystemTime::now() - Duration::from_secs(1));
    let expired = tenants.realm().issue_api_key(&manage, subject.clone(), &["reader"], past).unwrap();
    tenants.directory().put_api_key(expired.record().clone());
    assert_eq!(present(expired.secret().expose_secret()).await.unwrap_err(), CredentialFault::ApiKeyExpired.into());

    // A role that nobody mapped may be mapped later, to more than its maker has.
    let later = tenants.realm().issue_api_key(&manage, subject.clone(), &["reader", "unmapped"], None);
    assert_eq!(later.unwrap_err(), Denial::PermissionMissing);
    // A reader can't make keys, and nobody can make a key that may do more than they may.
    let reader = tenants.context_of("acme", "reader-1", &["reader"]).await;
    assert_eq!(reader.authorize::<ManageKeys>().unwrap_err(), Denial::PermissionMissing);
    tenants.suspend("acme");
    assert_eq!(present(&secret).await.unwrap_err(), Denial::TenantSuspended);
    let rules = tenants.denied_rules().await;
    for rule in ["credential.api_key", "credential.malformed", "credential.api_key_revoked", "permission.missing"] {
        assert!(rules.iter().any(|r| r == rule), "{rule} is not on record");
    }
}

/// The id of one key with the secret of another, and a checksum that fits: what an attacker would send.
fn swap_secret(id_of: &str, secret_of: &str) -> String {
    let (id, secret) = (id_of.split('_').nth(1).unwrap(), secret_of.splitn(3, '_').nth(2).unwrap());
    let body = format!("tk1_{id}_{}_", &secret[..43]);
    let check = blake3::hash(body.as_bytes());
    format!("{body}{}", data_encoding::HEXLOWER.encode(&check.as_bytes()[..4]))
}

async fn authenticate(tenants: &TestTenants, token: &str) -> Result<tenancy_core::TenantContext, Denial> {
    tenants.realm().authenticate(&Credential::bearer(token)).await
}

fn remove(claims: &mut Value, name: &str) -> Option<Value> {
    claims.as_object_mut().unwrap().remove(name)
}

fn swap(claims: &mut Value, from: &str, to: &str) {
    let value = remove(claims, from).unwrap();
    claims[to] = value;
}

fn now() -> i64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() as i64
}

#[tokio::test]
async fn checks_that_never_end_do_not_lock_everybody_out() {
    let tenants = TestTenants::builder()
        .build_with(|r| {
            let audit = tenancy_core::AuditSettings::default().capacity(4);
            r.patience(Duration::from_secs(30)).audit_settings(audit)
        })
        .await;
    let (stuck, good) = (tenants.token("globex"), tenants.token("acme"));
    tenants.faults().set(Fault::Hang);
    let held: Vec<_> = (0..20)
        .map(|_| {
            let (realm, stuck) = (tenants.realm().clone(), stuck.clone());
            tokio::spawn(async move { realm.authenticate(&Credential::bearer(stuck)).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    tenants.faults().set(Fault::None);
    tenants.realm().authenticate(&Credential::bearer(good)).await.expect("room for those who are quick");
    held.iter().for_each(tokio::task::JoinHandle::abort);
    for check in held {
        assert!(check.await.is_err());
    }
    tokio::time::sleep(Duration::from_millis(1300)).await;
    let records = tenants.audit().await;
    let cancelled = records.iter().filter(|r| r.outcome() == tenancy_core::Outcome::Cancelled);
    assert_eq!(cancelled.map(|r| r.count()).sum::<u64>(), 20, "none of them is lost in count");
}

#[tokio::test]
async fn a_denial_after_verification_is_in_the_tenants_own_chain_with_its_subject() {
    let tenants = TestTenants::new().await;
    let token = tenants.token("acme");
    tenants.suspend("acme");
    assert!(authenticate(&tenants, &token).await.is_err());
    let records = tenants.audit().await;
    let denied = records.iter().find(|r| r.rule() == Some("tenant.suspended")).unwrap();
    assert_eq!((denied.subject(), denied.life()), (Some("user@acme"), Some(tenants.life("acme"))));
}
