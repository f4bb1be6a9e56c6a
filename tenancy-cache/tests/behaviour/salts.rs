//! Case C5: whose prefixes an engine may share, by the salts themselves.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tenancy_cache::{Caches, EngineParts, EngineSalt, MemoryBackend, TenantCaches};
use tenancy_core::chat::WeightDigest;
use tenancy_core::{Life, TenantId, TenantRecord, Visibility};
use tenancy_testkit::TestTenants;
use uuid::Uuid;

use crate::rig::World;
use crate::samples;

fn is_salt(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    (1..=128).contains(&text.len()) && text.bytes().all(allowed)
}

async fn salt(mine: &TenantCaches, change: impl FnOnce(&mut EngineParts) + Send) -> EngineSalt {
    let mut parts = samples::engine();
    change(&mut parts);
    mine.engine_salt(&parts).await.unwrap()
}

fn adapter(byte: u8) -> Option<WeightDigest> {
    Some(WeightDigest::new([byte; 32]))
}

fn enter(tenants: &TestTenants, name: &str) {
    let issuer = tenants.issuer().issuer();
    let born = SystemTime::now() - Duration::from_secs(40);
    let record = TenantRecord::new(TenantId::parse(name).unwrap(), Life::random(), born);
    tenants.directory().add(record.claim(issuer, name).role(issuer, "editor", ["use-model"])).unwrap();
}

/// Ten thousand salts, since what an engine refuses would be in half of those in plain base64 (vLLM 51444): of 500 tenants with
/// twenty adapters each, and of 10,000 with `TENANCY_TEST_SCALE=20`.
#[tokio::test]
async fn ten_thousand_salts_differ_and_engines_take_them() {
    let scale: usize = std::env::var("TENANCY_TEST_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let tenants = TestTenants::new().await;
    let caches = Caches::new(tenants.realm(), MemoryBackend::new());
    let (mut salts, mut names) = (HashSet::new(), HashSet::new());
    for number in 0..500 * scale {
        // As long, and in such letters, as names may be.
        let word = Uuid::new_v4().simple().to_string();
        let name = format!("t{}{}", ["_", "-", "", "T"][number % 4], word.repeat(1 + number % 3));
        enter(&tenants, &name);
        let mine = caches.scoped(&tenants.context(&name).await).unwrap();
        for adapter in 0..20 {
            let digest = [Uuid::new_v4().into_bytes(), Uuid::new_v4().into_bytes()].concat();
            let model = format!("support-{adapter}-{name}");
            let salt = salt(&mine, |parts| {
                parts.model.id.clone_from(&model);
                parts.model.adapter = Some(WeightDigest::new(digest.clone().try_into().unwrap()));
            });
            let salt = salt.await.as_str().to_owned();
            assert!(is_salt(&salt), "{salt}");
            assert!(salts.insert(salt), "two salts are one");
            // An adapter of a salt's name would be the same to an engine that joins the two (vLLM 44701).
            let encoded = [data_encoding::BASE64URL_NOPAD.encode(&digest), data_encoding::HEXLOWER.encode(&digest)];
            names.extend(encoded.into_iter().chain([model]));
        }
        names.extend([mine.context().life().uuid().to_string(), name]);
    }
    assert_eq!(salts.len(), 10_000 * scale);
    assert!(salts.is_disjoint(&names), "no salt is the name of an adapter, a model or a tenant");
}

#[tokio::test]
async fn one_scope_has_one_salt_in_every_process() {
    let world = World::new().await;
    let ann = world.of_user("acme", "ann", &["editor", "reader"]).await;
    // Another process: its own caches, the same back end.
    let process = Caches::new(world.tenants.realm(), Arc::clone(&world.rig));
    let bob_there = process.scoped(&world.tenants.context_of("acme", "bob", &["reader"]).await).unwrap();
    let ann_there = process.scoped(&world.tenants.context_of("acme", "ann", &["reader", "editor"]).await).unwrap();
    for (mechanism, visibility, other) in [
        ("everybody in the tenant", Visibility::Tenant, &bob_there),
        ("the same roles, in another order", Visibility::Roles, &ann_there),
        ("the same subject", Visibility::Subject, &ann_there),
    ] {
        let here = salt(&ann, |parts| parts.visibility = visibility).await;
        let there = salt(other, |parts| parts.visibility = visibility).await;
        assert_eq!(here, there, "{mechanism}");
        assert!(is_salt(here.as_str()));
    }
}

/// Each relative asks with everything the same but one thing.
#[tokio::test]
async fn whatever_must_not_share_prefixes_has_another_salt() {
    let world = World::new().await;
    let elsewhere = TestTenants::new().await;
    let ann = world.of_user("acme", "ann", &["editor"]).await;
    let mut salts = vec![("the first", salt(&ann, |_| {}).await)];
    for (mechanism, mine, change) in [
        ("another tenant", world.of_user("globex", "ann", &["editor"]).await, (|_| {}) as fn(&mut EngineParts)),
        ("the model", ann.clone(), |parts| parts.model.id = "llamas".into()),
        ("the model's version", ann.clone(), |parts| parts.model.version = "3.2".into()),
        ("model or version", ann.clone(), |parts| {
            (parts.model.id, parts.model.version) = ("llama3".into(), ".1".into());
        }),
        ("an adapter", ann.clone(), |parts| parts.model.adapter = adapter(0)),
        ("another adapter", ann.clone(), |parts| parts.model.adapter = adapter(1)),
        ("the same adapter on another version", ann.clone(), |parts| {
            (parts.model.version, parts.model.adapter) = ("3.2".into(), adapter(1));
        }),
        ("for a subject", ann.clone(), |parts| parts.visibility = Visibility::Subject),
        ("for another subject", world.of_user("acme", "bob", &["editor"]).await, |parts| {
            parts.visibility = Visibility::Subject;
        }),
        ("for roles", ann.clone(), |parts| parts.visibility = Visibility::Roles),
        ("for more roles", world.of_user("acme", "ann", &["editor", "reader"]).await, |parts| {
            parts.visibility = Visibility::Roles;
        }),
        (
            "another realm over the same back end",
            Caches::new(elsewhere.realm(), Arc::clone(&world.rig))
                .scoped(&elsewhere.context_of("acme", "ann", &["editor"]).await)
                .unwrap(),
            |_| {},
        ),
        (
            "another back end",
            Caches::new(world.tenants.realm(), MemoryBackend::new()).scoped(ann.context()).unwrap(),
            |_| {},
        ),
    ] {
        salts.push((mechanism, salt(&mine, change).await));
    }
    ann.flush().await.unwrap();
    salts.push(("after a flush", salt(&ann, |_| {}).await));
    world.tenants.erase("acme");
    enter(&world.tenants, "acme");
    salts.push(("a new life of the same name", salt(&world.of_user("acme", "ann", &["editor"]).await, |_| {}).await));

    for (at, (mechanism, one)) in salts.iter().enumerate() {
        assert!(is_salt(one.as_str()), "{mechanism}");
        for (other, two) in &salts[at + 1..] {
            assert_ne!(one, two, "{mechanism} and {other}");
        }
    }
}
