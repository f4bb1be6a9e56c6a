//! Case C1: the same question of two tenants, and what a back end and a log see of it. Its relatives are in `cases`.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use tenancy_cache::{
    CacheSettings, Caches, EngineParts, EntryParts, Layer, Lookup, MemoryBackend, Moment, ResponseParts, Slot,
    TenantCaches, TenantLayer, derive,
};
use tenancy_core::{Denial, Life, Outcome, Placement, Region, TenantId, TenantRecord, Visibility};
use tenancy_testkit::TestTenants;

use crate::rig::{Look, World, denied};
use crate::samples;

/// The same question of two tenants, on one layer.
async fn are_two_entries<P>(a: TenantLayer<P, String>, b: TenantLayer<P, String>, parts: &P)
where
    P: EntryParts,
{
    a.fill(parts, "acme's").await;
    assert_eq!(b.hit(parts).await, None, "another tenant's entry is a miss");
    assert_eq!(a.hit(parts).await.as_deref(), Some("acme's"), "the owner's own is a hit");
    b.fill(parts, "globex's").await;
    assert_eq!(a.hit(parts).await.as_deref(), Some("acme's"), "and stays what it was");
    assert_eq!(b.hit(parts).await.as_deref(), Some("globex's"));
}

#[tokio::test]
async fn the_same_question_of_two_tenants_is_two_entries() {
    let world = World::new().await;
    let (a, b) = (world.of("acme").await, world.of("globex").await);
    are_two_entries(a.response(), b.response(), &samples::response()).await;
    are_two_entries(a.retrieval(), b.retrieval(), &samples::retrieval()).await;
    are_two_entries(a.embedding(), b.embedding(), &samples::embedding()).await;

    // Nothing a back end or a log can see is equal for both, and nothing of it can be read.
    let puts = world.rig.puts.lock().unwrap().clone();
    assert_eq!(puts.len(), 6);
    let digests: HashSet<_> = puts.iter().map(|(key, _)| key.as_str().rsplit(':').next().unwrap().to_owned()).collect();
    assert_eq!(digests.len(), 6, "six questions, six digests");
    for (key, sealed) in &puts {
        for secret in ["acme", "globex", "lunch"] {
            assert!(!key.as_str().contains(secret));
            assert!(!sealed.windows(secret.len()).any(|window| window == secret.as_bytes()), "no plaintext is kept");
        }
    }
    assert!(world.tenants.denied_rules().await.is_empty(), "nobody tried anything");
    let log = world.tenants.audit().await;
    let ours: Vec<_> = log.iter().filter(|record| record.store() == Some("cache")).collect();
    assert_eq!(ours.len(), 2, "looking and filling leave one record a request");
    assert!(ours.iter().all(|record| record.outcome() == Outcome::Accessed));
    let stats = world.caches.stats();
    for layer in [Layer::Response, Layer::Retrieval, Layer::Embedding] {
        assert_eq!((stats.of(layer).hits, stats.of(layer).misses), (3, 3), "{layer:?}");
        assert_eq!((stats.of(layer).bypasses, stats.of(layer).integrity_misses), (0, 0), "{layer:?}");
    }
}

#[tokio::test]
async fn a_visibility_is_shared_by_exactly_those_it_names() {
    for (mechanism, visibility, (one, one_roles), (two, two_roles), shared) in [
        ("everybody", Visibility::Tenant, ("ann", &["editor"][..]), ("bob", &["reader"][..]), true),
        ("the same roles", Visibility::Roles, ("ann", &["editor"]), ("bob", &["editor"]), true),
        (
            "the same roles in another order",
            Visibility::Roles,
            ("ann", &["reader", "editor"]),
            ("bob", &["editor", "reader"]),
            true,
        ),
        ("fewer roles", Visibility::Roles, ("ann", &["editor", "reader"]), ("bob", &["reader"]), false),
        ("more roles", Visibility::Roles, ("ann", &["reader"]), ("bob", &["editor", "reader"]), false),
        ("no role at all", Visibility::Roles, ("ann", &["editor"]), ("bob", &[]), false),
        ("the same subject", Visibility::Subject, ("ann", &["editor"]), ("ann", &["reader"]), true),
        ("another subject", Visibility::Subject, ("ann", &["editor"]), ("bob", &["editor"]), false),
        ("a subject that is a prefix", Visibility::Subject, ("ann", &["editor"]), ("anna", &["editor"]), false),
        ("a subject in other letters", Visibility::Subject, ("ann", &["editor"]), ("Ann", &["editor"]), false),
    ] {
        let world = World::new().await;
        let parts = ResponseParts { visibility, ..samples::response() };
        world.of_user("acme", one, one_roles).await.response().fill(&parts, "kept").await;
        let found = world.of_user("acme", two, two_roles).await.response().hit(&parts).await;
        assert_eq!(found.is_some(), shared, "{mechanism}");
        let elsewhere = world.of_user("globex", two, two_roles).await.response().hit(&parts).await;
        assert_eq!(elsewhere, None, "{mechanism}: never another tenant");
    }
}

/// A place reserved for few can't be used to write for many.
#[tokio::test]
async fn a_slot_keeps_the_visibility_it_was_asked_with() {
    let world = World::new().await;
    let ann = world.of_user("acme", "ann", &["editor"]).await;
    let private = ResponseParts { visibility: Visibility::Subject, ..samples::response() };
    ann.response().fill(&private, "for ann").await;
    let public = samples::response();
    assert_eq!(ann.response().hit(&private).await.as_deref(), Some("for ann"));
    assert_eq!(ann.response().hit(&public).await, None);
    assert_eq!(world.of_user("acme", "bob", &["editor"]).await.response().hit(&private).await, None);
}

#[tokio::test]
async fn contexts_that_may_not_are_refused_and_on_record() {
    let world = World::new().await;
    let elsewhere = TestTenants::new().await;
    let foreign = world.caches.scoped(&elsewhere.context("acme").await);
    assert_eq!(foreign.unwrap_err(), Denial::ForeignRealm);

    let mine = world.of("acme").await;
    let parts = samples::response();
    mine.response().fill(&parts, "kept").await;
    let slot = mine.response::<String>().slot(&ResponseParts { endpoint: "other".into(), ..parts.clone() }).await;
    world.tenants.suspend("acme");
    let suspended = Denial::TenantSuspended;
    assert_eq!(denied(&mine.response::<String>().lookup(&parts).await.unwrap_err()), suspended);
    assert_eq!(denied(&slot.put(&"late".to_owned()).await.unwrap_err()), suspended, "a place outlives no suspension");
    assert_eq!(denied(&mine.response::<String>().invalidate(&parts).await.unwrap_err()), suspended);
    assert_eq!(denied(&mine.flush().await.unwrap_err()), suspended);
    assert_eq!(denied(&mine.engine_salt(&samples::engine()).await.unwrap_err()), suspended);
    let compute = || async { Ok::<_, tenancy_cache::CacheError>("never".to_owned()) };
    assert_eq!(denied(&mine.response().get_or_try_compute(&parts, compute).await.unwrap_err()), suspended);
    assert_eq!(world.of("globex").await.response::<String>().hit(&parts).await, None, "the neighbour is not stopped");

    let rules = world.tenants.denied_rules().await;
    assert!(rules.contains(&"scope.foreign_realm".to_owned()), "{rules:?}");
    for action in ["cache.lookup", "cache.put", "cache.invalidate", "cache.flush", "cache.engine_salt"] {
        assert!(world.recorded(Outcome::Denied, action).await >= 1, "{action}");
    }
}

#[tokio::test]
async fn a_moment_of_another_tenant_derives_nothing() {
    let world = World::new().await;
    let (a, b) = (world.of("acme").await, world.of("globex").await);
    let moment = a.moment(Layer::Response, &[]).await.unwrap();
    assert!(derive(a.context(), &moment, &samples::response()).is_ok());
    let error = derive(b.context(), &moment, &samples::response()).unwrap_err();
    assert_eq!(denied(&error), Denial::WrongLife);
    assert!(world.tenants.denied_rules().await.contains(&"scope.wrong_life".to_owned()));

    // A moment without the documents' version is none for a layer that follows them.
    let bare = a.moment(Layer::Embedding, &[]).await.unwrap();
    assert!(derive(a.context(), &bare, &samples::embedding()).is_ok());
    assert!(derive(a.context(), &bare, &samples::response()).is_err());
}

/// The shape of salts, and that each of the things they depend on counts.
#[tokio::test]
async fn engine_salts_differ_where_prefixes_must_not_be_shared() {
    let world = World::new().await;
    let parts = samples::engine();
    let mine = world.of("acme").await;
    let salt = mine.engine_salt(&parts).await.unwrap();
    assert_eq!(mine.engine_salt(&parts).await.unwrap(), salt, "stable");
    for n in 0..100 {
        let mut parts = parts.clone();
        parts.model.version = n.to_string();
        let salt = mine.engine_salt(&parts).await.unwrap();
        let text = salt.as_str();
        assert!(text.starts_with("s1_") && text.len() == 46, "{text}");
        assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{text}");
    }

    let mut adapted = parts.clone();
    adapted.model.adapter = Some(tenancy_core::chat::WeightDigest::new([1; 32]));
    let mut readapted = parts.clone();
    readapted.model.adapter = Some(tenancy_core::chat::WeightDigest::new([2; 32]));
    let mut salts = vec![
        salt,
        world.of("globex").await.engine_salt(&parts).await.unwrap(),
        mine.engine_salt(&adapted).await.unwrap(),
        mine.engine_salt(&readapted).await.unwrap(),
        mine.engine_salt(&EngineParts { visibility: Visibility::Subject, ..parts.clone() }).await.unwrap(),
    ];
    mine.flush().await.unwrap();
    salts.push(mine.engine_salt(&parts).await.unwrap());
    assert_eq!(salts.iter().collect::<HashSet<_>>().len(), salts.len(), "all differ");

    world.rig.down.store(true, SeqCst);
    assert!(mine.engine_salt(&parts).await.is_err(), "no salt is made up when the epoch is unknown");
}

#[tokio::test]
async fn a_tenant_is_served_in_its_own_region_only() {
    let world = World::new().await;
    let west = Region::parse("eu-west").unwrap();
    let record = TenantRecord::new(
        TenantId::parse("umbrella").unwrap(),
        Life::random(),
        std::time::SystemTime::now() - std::time::Duration::from_secs(60),
    )
    .claim(world.tenants.issuer().issuer(), "umbrella")
    .placed(Placement::in_region(west.clone()));
    world.tenants.directory().add(record).unwrap();
    let (at_home, abroad) = (world.tenants.context("acme").await, world.tenants.context("umbrella").await);
    let there = world.caches.clone().in_region(west);
    assert_eq!(world.caches.scoped(&abroad).err(), Some(Denial::WrongRegion));
    assert_eq!(there.scoped(&at_home).err(), Some(Denial::WrongRegion));
    for (caches, context, answer) in [(&world.caches, &at_home, "at home"), (&there, &abroad, "abroad")] {
        let mine = caches.scoped(context).unwrap();
        mine.response().fill(&samples::response(), answer).await;
        assert_eq!(mine.response().hit(&samples::response()).await.as_deref(), Some(answer));
    }
    let log = world.tenants.audit().await;
    let wrong = log.iter().filter(|record| record.rule() == Some("placement.wrong_region"));
    assert_eq!(wrong.map(|record| record.life()).collect::<Vec<_>>(), [Some(abroad.life()), Some(at_home.life())]);
}

#[tokio::test]
async fn a_value_that_is_too_large_or_late_is_not_kept() {
    let settings =
        CacheSettings::new().max_bytes(Layer::Response, 200).ttl(Layer::Retrieval, std::time::Duration::ZERO);
    let world = World::over(TestTenants::new().await, Arc::default(), settings);
    let mine = world.of("acme").await;
    let slot = mine.response::<String>().slot(&samples::response()).await;
    let put = slot.put(&"x".repeat(200)).await.unwrap();
    assert_eq!(put, tenancy_cache::Put::Skipped(tenancy_cache::Bypass::TooLarge));
    mine.response().fill(&samples::response(), "short").await;
    mine.retrieval().fill(&samples::retrieval(), "no time").await;
    assert_eq!(mine.retrieval::<String>().hit(&samples::retrieval()).await, None);
}

#[tokio::test]
async fn nothing_of_a_tenant_is_shown() {
    let world = World::over(TestTenants::new().await, Arc::default(), CacheSettings::new());
    let mine = world.of("acme").await;
    let parts = samples::response();
    let missed = mine.response::<String>().lookup(&parts).await.unwrap();
    let shown = format!("{:?} {:?} {:?} {missed:?}", world.caches, mine, mine.response::<String>());
    assert!(matches!(missed, Lookup::Miss(_)));
    mine.response().fill(&parts, "secret answer").await;
    let hit = mine.response::<String>().lookup(&parts).await.unwrap();
    world.rig.down.store(true, SeqCst);
    let error = mine.response::<String>().invalidate(&parts).await.unwrap_err();
    let mut chain = format!("{shown} {hit:?} {error} {error:?}");
    let mut source = std::error::Error::source(&error);
    while let Some(inner) = source {
        chain.push_str(&format!(" {inner} {inner:?}"));
        source = inner.source();
    }
    for secret in ["acme", "lunch", "secret", "hunter2", "redis:", &world.rig.last_put().0.as_str()[..70]] {
        assert!(!chain.contains(secret), "{secret} in {chain}");
    }
}

#[tokio::test]
async fn the_memory_back_end_serves_as_it_is() {
    let tenants = TestTenants::new().await;
    let caches = Caches::new(tenants.realm(), MemoryBackend::new());
    let mine = caches.scoped(&tenants.context("acme").await).unwrap();
    mine.response().fill(&samples::response(), "kept").await;
    assert_eq!(mine.response().hit(&samples::response()).await.as_deref(), Some("kept"));
    assert_eq!(
        mine.response::<u64>().lookup(&samples::response()).await.map(|l| matches!(l, Lookup::Miss(_))).ok(),
        Some(true),
        "a value of another type is none"
    );
}

#[test]
fn handles_are_owned_and_go_where_spawned_work_goes() {
    const fn owned<T: Clone + Send + Sync + 'static>() {}
    owned::<Caches>();
    owned::<TenantCaches>();
    owned::<TenantLayer<ResponseParts, String>>();
    const fn sent<T: Send + Sync + 'static>() {}
    sent::<Slot<String>>();
    sent::<Moment>();
}
