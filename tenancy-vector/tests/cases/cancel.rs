//! Dropping the futures of a handle.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use tenancy_core::{BoxError, Outcome, Realm};
use tenancy_testkit::TestTenants;
use tenancy_vector::{
    Candidates, Change, GroupBy, PayloadKey, Reranker, Scroll, TenantVectors, VectorError, VectorName, VectorStore,
};

use crate::cases::{id, near, of, point};

type Call = Pin<Box<dyn Future<Output = Result<(), VectorError>> + Send>>;
type Start = fn(TenantVectors) -> Call;

const CALLS: [(&str, Start); 11] = [
    ("vectors.upsert", |mine| Box::pin(async move { mine.upsert(vec![point("A1", 0.5, "a")]).await })),
    ("vectors.query", |mine| Box::pin(async move { mine.query(&near()).await.map(drop) })),
    ("vectors.get", |mine| Box::pin(async move { mine.get(&[id("A1"), id("B1")]).await.map(drop) })),
    ("vectors.delete", |mine| Box::pin(async move { mine.delete(&[id("B1")]).await.map(drop) })),
    ("vectors.query_batch", |mine| Box::pin(async move { mine.query_batch(&[near(), near()]).await.map(drop) })),
    ("vectors.query_groups", |mine| {
        Box::pin(async move {
            let by = GroupBy::new(PayloadKey::parse("owner")?, 2, 2)?;
            mine.query_groups(&near(), &by).await.map(drop)
        })
    }),
    ("vectors.query_reranked", |mine| {
        Box::pin(async move { mine.query_reranked(&near(), "", &Hesitant, 3).await.map(drop) })
    }),
    ("vectors.matrix", |mine| Box::pin(async move { mine.matrix(&VectorName::dense(), None, 10, 3).await.map(drop) })),
    ("vectors.scroll", |mine| Box::pin(async move { mine.scroll(&Scroll::new(), None).await.map(drop) })),
    ("vectors.change", |mine| {
        Box::pin(async move { mine.change(vec![Change::Upsert(vec![point("A1", 0.5, "a")])]).await })
    }),
    ("vectors.count", |mine| Box::pin(async move { mine.count(None).await.map(drop) })),
];

/// A model that gives way before it answers.
struct Hesitant;

#[async_trait]
impl Reranker for Hesitant {
    async fn score(&self, candidates: Candidates<'_>) -> Result<Vec<f32>, BoxError> {
        tokio::task::yield_now().await;
        Ok(vec![1.0; candidates.hits().len()])
    }
}

/// Drops a call after its k-th poll. True when it came to its end before.
async fn drop_after(mut call: Call, polls: usize) -> bool {
    let mut left = polls;
    poll_fn(|context| {
        let Some(rest) = left.checked_sub(1) else { return Poll::Ready(false) };
        left = rest;
        match call.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready(true),
            Poll::Pending if left == 0 => Poll::Ready(false),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Dropping any call after its k-th poll, for every k until it completes: the store works on, another tenant's points
/// are intact, and the check that had begun is on record.
pub(crate) async fn dropped_calls_leave_the_store_whole(store: impl Fn(&Realm) -> VectorStore) {
    for (action, start) in CALLS {
        let mut polls = 0;
        loop {
            let tenants = TestTenants::new().await;
            let store = store(tenants.realm());
            let (mine, theirs) = (of(&tenants, &store, "acme").await, of(&tenants, &store, "globex").await);
            theirs.upsert(vec![point("B1", 1.0, "b")]).await.unwrap();

            let completed = drop_after(start(mine.clone()), polls).await;
            let reads = !matches!(action, "vectors.upsert" | "vectors.delete" | "vectors.change");
            let wanted = u64::from(polls > 0 && !(reads && completed));
            assert_eq!(
                ends(&tenants, action, wanted).await,
                wanted,
                "{action} dropped after {polls} polls: {completed}"
            );

            assert_eq!(theirs.count(None).await.unwrap(), 1, "{action} dropped after {polls} polls");
            mine.upsert(vec![point("A1", 0.5, "a"), point("A2", 0.5, "a")]).await.unwrap();
            assert_eq!(mine.query(&near()).await.unwrap().len(), 2, "{action} dropped after {polls} polls");
            if completed {
                break;
            }
            polls += 1;
            assert!(polls < 200, "{action} ends");
        }
        assert!(polls > 0, "{action} takes a poll at least");
    }
}

/// How many records say how a call ended. What goes on in a task of its own gets time to come to its end.
async fn ends(tenants: &TestTenants, action: &str, wanted: u64) -> u64 {
    let mut found = 0;
    for _ in 0..500 {
        let records = tenants.audit().await;
        let of_action = records.iter().filter(|r| r.action() == action && r.life() == Some(tenants.life("acme")));
        let ended = of_action.filter(|r| matches!(r.outcome(), Outcome::Cancelled | Outcome::Changed));
        found = ended.map(|r| r.count()).sum();
        if found >= wanted {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    found
}
