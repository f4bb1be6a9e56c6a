//! V12: back ends that ignore what they were asked. The call fails with a typed error and a record; nothing they
//! returned gets through.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

#[expect(dead_code, reason = "the cases are for back ends that tell the truth")]
mod cases;
#[path = "cases/fake.rs"]
mod fake;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use fake::{Fake, Hooks};
use serde_json::{Map, Value, json};
use tenancy_core::Denial;
use tenancy_testkit::TestTenants;
use tenancy_vector::{BackendError, Filter, PayloadKey, ScoredPayload, StoredPayload, VectorError, VectorStore};

type Answers = Vec<(f32, Map<String, Value>)>;
type Lie = Box<dyn Fn(&mut Answers) + Send + Sync>;

/// Answers are changed on the way, and one point too many is counted.
struct Liar {
    lie: Lie,
    requests: Arc<AtomicU64>,
}

#[async_trait]
impl Hooks for Liar {
    async fn before_read(&self, name: &'static str) -> Result<(), BackendError> {
        self.requests.fetch_add(u64::from(name == "query"), Ordering::Relaxed);
        Ok(())
    }

    fn answers(&self, honest: Vec<ScoredPayload>) -> Vec<ScoredPayload> {
        let parts = honest.into_iter().map(ScoredPayload::into_parts);
        let mut answers: Answers = parts.map(|(score, stored)| (score, stored.into_parts().0)).collect();
        (self.lie)(&mut answers);
        answers.into_iter().map(|(score, payload)| ScoredPayload::new(score, StoredPayload::new(payload))).collect()
    }

    fn counted(&self, honest: u64) -> u64 {
        honest + 1
    }
}

async fn liar(
    tenants: &TestTenants,
    lie: impl Fn(&mut Answers) + Send + Sync + 'static,
) -> (VectorStore, Arc<AtomicU64>) {
    let requests = Arc::new(AtomicU64::new(0));
    let liar = Liar { lie: Box::new(lie), requests: Arc::clone(&requests) };
    let store = VectorStore::new(tenants.realm(), Fake::new(liar), cases::schema());
    let mine = cases::of(tenants, &store, "acme").await;
    mine.upsert(vec![cases::point("A1", 0.5, "a"), cases::point("A2", 0.4, "a")]).await.unwrap();
    (store, requests)
}

fn tag(payload: &mut Map<String, Value>) -> &mut Map<String, Value> {
    payload["tenancy"].as_object_mut().unwrap()
}

/// A stored payload of another tenant, tag and all.
async fn foreign(tenants: &TestTenants) -> Map<String, Value> {
    let taken = Arc::new(std::sync::Mutex::new(Map::new()));
    let spy = Arc::clone(&taken);
    let requests = Arc::default();
    let lie: Lie = Box::new(move |answers: &mut Answers| *spy.lock().unwrap() = answers[0].1.clone());
    let backend = Fake::new(Liar { lie, requests });
    let store = VectorStore::new(tenants.realm(), backend, cases::schema());
    let theirs = cases::of(tenants, &store, "globex").await;
    theirs.upsert(vec![cases::point("B1", 1.0, "b")]).await.unwrap();
    assert_eq!(theirs.query(&cases::near()).await.unwrap().len(), 1);
    taken.lock().unwrap().clone()
}

#[tokio::test]
async fn v12_a_lie_fails_the_whole_call_and_is_on_record() {
    let tenants = TestTenants::new().await;
    let theirs = foreign(&tenants).await;
    let (life, other_life) = (tenants.life("acme").uuid().to_string(), tenants.life("globex").uuid().to_string());
    let (both, upper) = (json!([life.clone(), other_life.clone()]), life.to_uppercase());
    let simple = tenants.life("acme").uuid().simple().to_string();
    let lies: Vec<(&str, Lie)> = vec![
        ("another tenant's point", {
            let theirs = theirs.clone();
            Box::new(move |answers| answers[0].1 = theirs.clone())
        }),
        ("another tenant's point beside one's own", {
            let theirs = theirs.clone();
            Box::new(move |answers| answers.insert(0, (1.0, theirs.clone())))
        }),
        ("another tenant's point under our life", {
            let (theirs, life) = (theirs.clone(), life.clone());
            Box::new(move |answers| {
                answers[0].1 = theirs.clone();
                tag(&mut answers[0].1).insert("life".to_owned(), json!(life));
            })
        }),
        ("our point under another life", {
            Box::new(move |answers| drop(tag(&mut answers[0].1).insert("life".to_owned(), json!(other_life))))
        }),
        ("a list of lives, ours among them", {
            Box::new(move |answers| drop(tag(&mut answers[0].1).insert("life".to_owned(), both.clone())))
        }),
        ("a life that is not in the one form", {
            Box::new(move |answers| drop(tag(&mut answers[0].1).insert("life".to_owned(), json!(upper))))
        }),
        ("a life without hyphens", {
            Box::new(move |answers| drop(tag(&mut answers[0].1).insert("life".to_owned(), json!(simple))))
        }),
        (
            "a life that is null",
            Box::new(|answers| drop(tag(&mut answers[0].1).insert("life".to_owned(), json!(null)))),
        ),
        ("no life", Box::new(|answers| drop(tag(&mut answers[0].1).remove("life")))),
        ("no tag", Box::new(|answers| drop(answers[0].1.remove("tenancy")))),
        ("a tag that is a text", Box::new(|answers| drop(answers[0].1.insert("tenancy".to_owned(), json!("x"))))),
        ("no payload", Box::new(|answers| answers[0].1.clear())),
        (
            "a tag with something more",
            Box::new(|answers| drop(tag(&mut answers[0].1).insert("x".to_owned(), json!(1)))),
        ),
        ("another external id", Box::new(|answers| drop(tag(&mut answers[0].1).insert("id".to_owned(), json!("B1"))))),
        ("no external id", Box::new(|answers| drop(tag(&mut answers[0].1).insert("id".to_owned(), json!(""))))),
        ("no digest", Box::new(|answers| drop(tag(&mut answers[0].1).remove("digest")))),
        ("half a digest", {
            Box::new(|answers| {
                let tag = tag(&mut answers[0].1);
                let half = tag["digest"].as_str().unwrap()[..32].to_owned();
                tag.insert("digest".to_owned(), json!(half));
            })
        }),
        ("a point twice", Box::new(|answers| answers[1] = answers[0].clone())),
    ];
    for (lie, apply) in lies {
        let (store, _) = liar(&tenants, apply).await;
        let mine = cases::of(&tenants, &store, "acme").await;
        let before = cases::denied(&tenants, "acme", "store.breach").await;
        let query = mine.query(&cases::near()).await;
        assert!(matches!(query, Err(VectorError::Denied(Denial::StoreBreach))), "{lie}: {query:?}");
        let get = mine.get(&[cases::id("A1"), cases::id("A2")]).await;
        assert!(matches!(get, Err(VectorError::Denied(Denial::StoreBreach))), "{lie}: {get:?}");
        assert_eq!(cases::denied(&tenants, "acme", "store.breach").await, before + 2, "{lie}");
    }
}

#[tokio::test]
async fn v12_what_only_a_query_can_lie_about() {
    let tenants = TestTenants::new().await;
    let narrow = Filter::Equals(PayloadKey::parse("owner").unwrap(), "a".into());
    let lies: Vec<(&str, Lie, _)> = vec![
        ("a score that is no number", Box::new(|answers| answers[0].0 = f32::NAN), cases::near()),
        (
            "a hit outside the filter",
            Box::new(|answers| answers[0].1["owner"] = json!("somebody")),
            cases::near().filter(narrow).unwrap(),
        ),
    ];
    for (lie, apply, query) in lies {
        let (store, _) = liar(&tenants, apply).await;
        let before = cases::denied(&tenants, "acme", "store.breach").await;
        let hits = cases::of(&tenants, &store, "acme").await.query(&query).await;
        assert!(matches!(hits, Err(VectorError::Denied(Denial::StoreBreach))), "{lie}: {hits:?}");
        assert_eq!(cases::denied(&tenants, "acme", "store.breach").await, before + 1, "{lie}");
    }
}

#[tokio::test]
async fn v12_more_hits_than_the_limit_are_a_breach() {
    let tenants = TestTenants::new().await;
    let kept = std::sync::Mutex::new(None);
    let (store, _) = liar(&tenants, move |answers| {
        let mut kept = kept.lock().unwrap();
        match kept.take() {
            Some(second) => answers.push(second),
            None => *kept = Some(answers[1].clone()),
        }
    })
    .await;
    let mine = cases::of(&tenants, &store, "acme").await;
    assert_eq!(mine.query(&cases::near().limit(2).unwrap()).await.unwrap().len(), 2, "one's own two points");
    let hits = mine.query(&cases::near().limit(1).unwrap()).await;
    assert!(matches!(hits, Err(VectorError::Denied(Denial::StoreBreach))), "both, where one was asked for: {hits:?}");
}

#[tokio::test]
async fn v12_a_look_up_answers_only_what_was_asked() {
    let tenants = TestTenants::new().await;
    let (store, _) = liar(&tenants, |_| {}).await;
    let mine = cases::of(&tenants, &store, "acme").await;
    let taken = Arc::new(std::sync::Mutex::new(None));
    let other = Arc::clone(&taken);
    let (lying, _) = liar(&tenants, move |answers| {
        let mut other = other.lock().unwrap();
        match other.take() {
            Some(payload) => answers.push((1.0, payload)),
            None => *other = Some(answers[0].1.clone()),
        }
    })
    .await;
    assert_eq!(mine.get(&[cases::id("A1")]).await.unwrap().len(), 1);
    let mine = cases::of(&tenants, &lying, "acme").await;
    assert!(mine.get(&[cases::id("A1")]).await.is_ok(), "the truth, which the liar keeps for the next time");
    let answer = mine.get(&[cases::id("A2")]).await;
    assert!(matches!(answer, Err(VectorError::Denied(Denial::StoreBreach))), "one's own point, but another one");
}

#[tokio::test]
async fn v12_more_deleted_than_asked_for_is_somebodys() {
    let tenants = TestTenants::new().await;
    let (store, _) = liar(&tenants, |_| {}).await;
    let deleted = cases::of(&tenants, &store, "acme").await.delete(&[cases::id("A1")]).await;
    assert!(matches!(deleted, Err(VectorError::Denied(Denial::StoreBreach))));
}

#[tokio::test]
async fn an_honest_back_end_passes_the_same_checks() {
    let tenants = TestTenants::new().await;
    let (store, requests) = liar(&tenants, |_| {}).await;
    let mine = cases::of(&tenants, &store, "acme").await;
    assert_eq!(mine.query(&cases::near()).await.unwrap().len(), 2);
    assert_eq!(requests.load(Ordering::Relaxed), 1);
    assert_eq!(cases::denied(&tenants, "acme", "store.breach").await, 0);
}
