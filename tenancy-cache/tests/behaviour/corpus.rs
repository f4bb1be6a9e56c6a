//! The version of the documents: nothing found before they changed is given out after.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tenancy_cache::{Bypass, CacheError, CacheSettings, Layer, Lookup, ResponseParts, derive};
use tenancy_core::{
    Corpus, CorpusError, CorpusName, CorpusScope, CorpusVersion, CorpusVersions, Credential, Denial, Gate, Reach,
    StoreName, WriteId,
};
use tenancy_testkit::TestTenants;

use crate::rig::{Look, World, begin_write};
use crate::samples;

#[tokio::test]
async fn a_fill_that_a_write_overtook_is_not_served() {
    for (mechanism, begins, settles) in [
        ("the write lies between look and put", Step::AfterLook, Step::AfterLook),
        ("the put falls into the write", Step::AfterLook, Step::AfterPut),
        ("the write begins after the put", Step::AfterPut, Step::AfterPut),
    ] {
        let world = World::new().await;
        let mine = world.of("acme").await;
        let theirs = world.of("globex").await;
        theirs.response().fill(&samples::response(), "theirs").await;

        let response = mine.response::<String>().slot(&samples::response()).await;
        let retrieval = mine.retrieval::<String>().slot(&samples::retrieval()).await;
        let mut write = None;
        for step in [Step::AfterLook, Step::AfterPut] {
            if step == Step::AfterPut {
                let _ = response.put(&"I don't know".to_owned()).await.unwrap();
                let _ = retrieval.put(&"nothing".to_owned()).await.unwrap();
                break;
            }
            if begins == step {
                write = Some(begin_write(&world.tenants, mine.context()).await);
            }
            if settles == step {
                write.take().unwrap().settle().await.unwrap();
            }
        }
        if begins == Step::AfterPut {
            write = Some(begin_write(&world.tenants, mine.context()).await);
        }
        if let Some(write) = write {
            write.settle().await.unwrap();
        }
        assert_eq!(mine.response::<String>().hit(&samples::response()).await, None, "{mechanism}");
        assert_eq!(mine.retrieval::<String>().hit(&samples::retrieval()).await, None, "{mechanism}");
        assert_eq!(theirs.response().hit(&samples::response()).await.as_deref(), Some("theirs"), "{mechanism}");
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Step {
    AfterLook,
    AfterPut,
}

#[tokio::test]
async fn while_a_document_is_written_the_layers_that_follow_stand_aside() {
    let world = World::new().await;
    let (mine, theirs) = (world.of("acme").await, world.of("globex").await);
    mine.response().fill(&samples::response(), "old").await;
    mine.embedding().fill(&samples::embedding(), "vector").await;
    theirs.response().fill(&samples::response(), "theirs").await;

    let write = begin_write(&world.tenants, mine.context()).await;
    for _ in 0..2 {
        let look = mine.response::<String>().lookup(&samples::response()).await.unwrap();
        assert!(matches!(look, Lookup::Bypass(Bypass::CorpusWrite)), "{look:?}");
    }
    let look = mine.retrieval::<String>().lookup(&samples::retrieval()).await.unwrap();
    assert!(matches!(look, Lookup::Bypass(Bypass::CorpusWrite)), "{look:?}");
    let compute = || async { Ok::<_, tenancy_cache::CacheError>("computed".to_owned()) };
    let got = mine.response().get_or_try_compute(&samples::response(), compute).await.unwrap();
    assert_eq!(got, "computed", "the request goes on");
    assert_eq!(
        mine.embedding().hit(&samples::embedding()).await.as_deref(),
        Some("vector"),
        "a vector does not follow"
    );
    assert_eq!(theirs.response().hit(&samples::response()).await.as_deref(), Some("theirs"), "nor does a neighbour");
    mine.response::<String>().invalidate(&samples::response()).await.unwrap();
    let stats = world.caches.stats();
    assert_eq!((stats.of(Layer::Response).bypasses, stats.of(Layer::Retrieval).bypasses), (3, 1));

    write.settle().await.unwrap();
    assert_eq!(
        mine.response::<String>().hit(&samples::response()).await,
        None,
        "what was computed meanwhile is not kept"
    );
    mine.response().fill(&samples::response(), "new").await;
    assert_eq!(mine.response().hit(&samples::response()).await.as_deref(), Some("new"), "and the cache is alive again");
}

#[tokio::test]
async fn two_writes_at_once_and_one_that_is_dropped_keep_it_aside() {
    let world = World::new().await;
    let mine = world.of("acme").await;
    let (one, two) =
        (begin_write(&world.tenants, mine.context()).await, begin_write(&world.tenants, mine.context()).await);
    one.settle().await.unwrap();
    let look = mine.response::<String>().lookup(&samples::response()).await.unwrap();
    assert!(matches!(look, Lookup::Bypass(Bypass::CorpusWrite)), "the other one is still under way");
    drop(two);
    let look = mine.response::<String>().lookup(&samples::response()).await.unwrap();
    assert!(matches!(look, Lookup::Bypass(Bypass::CorpusWrite)), "and may have changed something");
}

fn corpus(tenants: &TestTenants, name: &str) -> Corpus {
    tenants.realm().corpus(&CorpusName::parse(name).unwrap())
}

fn with(corpora: &[&Corpus]) -> ResponseParts {
    ResponseParts { corpora: corpora.iter().map(|corpus| (*corpus).clone()).collect(), ..samples::response() }
}

#[tokio::test]
async fn an_answer_that_took_from_a_shared_corpus_ends_with_its_version() {
    let world = World::new().await;
    let (mine, theirs) = (world.of("acme").await, world.of("globex").await);
    let (handbook, statutes) = (corpus(&world.tenants, "handbook"), corpus(&world.tenants, "statutes"));
    let questions = [with(&[]), with(&[&statutes]), with(&[&handbook]), with(&[&statutes, &handbook])];
    for parts in &questions {
        mine.response().fill(parts, "old").await;
        theirs.response().fill(parts, "old").await;
        assert_eq!(mine.response().hit(parts).await.as_deref(), Some("old"), "the positive control");
    }
    let operator = Credential::bearer(world.tenants.operator_token());
    let (reach, minute) = (Reach::Corpus(handbook.name().clone()), Duration::from_secs(60));
    let operators = world.tenants.realm().operators();
    let grant = operators.open(&operator, "a new edition", "CASE-1", reach, minute).await.unwrap();
    let gate = Gate::new(world.tenants.realm(), StoreName::new("corpora"));
    let publication = grant.publish(&gate, &handbook, "publish").await.unwrap();
    let write = publication.begin("corpus.change").await.unwrap();
    for (parts, aside) in questions.iter().zip([false, false, true, true]) {
        let look = mine.response::<String>().lookup(parts).await.unwrap();
        assert_eq!(matches!(look, Lookup::Bypass(Bypass::CorpusWrite)), aside, "while it is written: {look:?}");
    }
    write.changed().await.unwrap();
    for tenant in [&mine, &theirs] {
        for (parts, kept) in questions.iter().zip([true, true, false, false]) {
            assert_eq!(tenant.response::<String>().hit(parts).await.is_some(), kept, "afterwards");
        }
    }
}

#[tokio::test]
async fn a_corpus_of_another_realm_or_of_another_moment_makes_no_key() {
    let (world, others) = (World::new().await, TestTenants::new().await);
    let mine = world.of("acme").await;
    let refused = mine.response::<String>().lookup(&with(&[&corpus(&others, "handbook")])).await;
    assert!(matches!(refused, Err(CacheError::Denied(Denial::ForeignRealm))), "{refused:?}");
    let (handbook, statutes) = (corpus(&world.tenants, "handbook"), corpus(&world.tenants, "statutes"));
    let moment = mine.moment(Layer::Response, std::slice::from_ref(&handbook)).await.unwrap();
    assert!(derive(mine.context(), &moment, &with(&[&handbook])).is_ok(), "the positive control");
    let unknown = derive(mine.context(), &moment, &with(&[&handbook, &statutes]));
    assert!(matches!(unknown, Err(CacheError::Bypassed(Bypass::CorpusUnknown))), "{unknown:?}");
}

/// Versions that can't be had.
struct Unreadable;

#[async_trait]
impl CorpusVersions for Unreadable {
    async fn current(&self, _: CorpusScope<'_>) -> Result<Option<CorpusVersion>, CorpusError> {
        Err(CorpusError::new("down"))
    }

    async fn begin(&self, _: CorpusScope<'_>, _: WriteId) -> Result<(), CorpusError> {
        Err(CorpusError::new("down"))
    }

    async fn settle(&self, _: CorpusScope<'_>, _: WriteId) -> Result<CorpusVersion, CorpusError> {
        Err(CorpusError::new("down"))
    }
}

#[tokio::test]
async fn a_version_that_can_t_be_read_is_a_bypass_and_no_invalidation() {
    let tenants = TestTenants::builder().build_with(|ready| ready.corpus_versions(Unreadable)).await;
    let world = World::over(tenants, Arc::default(), CacheSettings::new());
    let mine = world.of("acme").await;
    let look = mine.response::<String>().lookup(&samples::response()).await.unwrap();
    assert!(matches!(look, Lookup::Bypass(Bypass::CorpusUnknown)), "{look:?}");
    mine.embedding().fill(&samples::embedding(), "vector").await;
    assert_eq!(mine.embedding().hit(&samples::embedding()).await.as_deref(), Some("vector"));
    assert!(mine.response::<String>().invalidate(&samples::response()).await.is_err(), "the version may come back");
}
