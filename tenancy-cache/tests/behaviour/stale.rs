//! Values that are given while they are renewed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use tenancy_cache::{CacheError, CacheSettings, ResponseParts, TenantLayer};
use tenancy_testkit::TestTenants;
use tokio::sync::{Notify, Semaphore};

use crate::rig::{Look, World};
use crate::samples;

/// A computation that counts, and waits until it is let go.
#[derive(Clone)]
struct Model {
    asked: Arc<AtomicUsize>,
    may_answer: Arc<Semaphore>,
    answered: Arc<Notify>,
}

impl Model {
    fn new(may_answer: usize) -> Self {
        Self { asked: Arc::default(), may_answer: Arc::new(Semaphore::new(may_answer)), answered: Arc::default() }
    }

    fn asked(&self) -> usize {
        self.asked.load(SeqCst)
    }

    async fn was_asked(&self, times: usize) {
        let asked = async {
            while self.asked() < times {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), asked).await.unwrap();
    }

    async fn answer(self) -> Result<String, CacheError> {
        let number = self.asked.fetch_add(1, SeqCst) + 1;
        self.may_answer.acquire().await.unwrap().forget();
        self.answered.notify_one();
        Ok(format!("answer {number}"))
    }
}

async fn ask(layer: &TenantLayer<ResponseParts, String>, fresh: Duration, model: &Model) -> String {
    let model = model.clone();
    layer.get_or_revalidate(&samples::response(), fresh, || model.answer()).await.unwrap()
}

/// Looks until there is such a value.
async fn until(layer: &TenantLayer<ResponseParts, String>, value: &str) {
    let seen = async {
        while layer.hit(&samples::response()).await.as_deref() != Some(value) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), seen).await.unwrap();
}

#[tokio::test]
async fn a_fresh_value_is_given_and_nobody_computes() {
    let world = World::new().await;
    let (layer, model) = (world.of("acme").await.response(), Model::new(10));
    for _ in 0..5 {
        assert_eq!(ask(&layer, Duration::from_secs(3600), &model).await, "answer 1");
    }
    assert_eq!(model.asked(), 1);
}

#[tokio::test]
async fn a_stale_value_is_given_at_once_and_one_task_renews_it() {
    let world = World::new().await;
    let (layer, model) = (world.of("acme").await.response(), Model::new(1));
    assert_eq!(ask(&layer, Duration::ZERO, &model).await, "answer 1");
    for _ in 0..20 {
        assert_eq!(ask(&layer, Duration::ZERO, &model).await, "answer 1", "nobody waits for the model");
    }
    model.was_asked(2).await;
    for _ in 0..20 {
        assert_eq!(ask(&layer, Duration::ZERO, &model).await, "answer 1");
        tokio::task::yield_now().await;
    }
    assert_eq!(model.asked(), 2, "one task asks it, whoever comes meanwhile");
    model.may_answer.add_permits(1);
    until(&layer, "answer 2").await;
    let other = world.of("globex").await.response::<String>();
    assert_eq!(other.hit(&samples::response()).await, None, "it is acme's");
}

#[tokio::test]
async fn what_was_removed_or_flushed_is_not_given_as_stale() {
    for flush in [false, true] {
        let world = World::new().await;
        let mine = world.of("acme").await;
        let (layer, model) = (mine.response(), Model::new(1));
        assert_eq!(ask(&layer, Duration::ZERO, &model).await, "answer 1");
        assert_eq!(ask(&layer, Duration::ZERO, &model).await, "answer 1");
        model.was_asked(2).await;
        match flush {
            true => mine.flush().await.unwrap(),
            false => layer.invalidate(&samples::response()).await.unwrap(),
        }
        // The second answer was asked for before that.
        model.may_answer.add_permits(1);
        model.answered.notified().await;
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        assert_eq!(layer.hit(&samples::response()).await, None, "flush: {flush}");
    }
}

#[tokio::test]
async fn a_computation_that_fails_behind_it_is_nobodys() {
    let world = World::new().await;
    let layer = world.of("acme").await.response();
    layer.fill(&samples::response(), "kept").await;
    let fails = || async { Err::<String, _>(CacheError::Value) };
    let given = layer.get_or_revalidate(&samples::response(), Duration::ZERO, fails).await.unwrap();
    assert_eq!(given, "kept");
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    assert_eq!(layer.hit(&samples::response()).await.as_deref(), Some("kept"));
    let model = Model::new(10);
    assert_eq!(ask(&layer, Duration::ZERO, &model).await, "kept");
    until(&layer, "answer 1").await;
}

#[tokio::test]
async fn without_a_value_the_failure_is_the_callers() {
    let world = World::new().await;
    let layer = world.of("acme").await.response::<String>();
    let fails = || async { Err::<String, _>(CacheError::Value) };
    let failed = layer.get_or_revalidate(&samples::response(), Duration::ZERO, fails).await;
    assert!(matches!(failed, Err(CacheError::Value)));
    assert_eq!(layer.hit(&samples::response()).await, None);
}

#[tokio::test]
async fn a_task_ends_with_the_context() {
    let limit = Duration::from_secs(1);
    let tenants = TestTenants::builder().build_with(|ready| ready.max_request(limit)).await;
    let world = World::over(tenants, Arc::default(), CacheSettings::new().patience(Duration::from_secs(10)));
    let layer = world.of("acme").await.response();
    let model = Model::new(1);
    assert_eq!(ask(&layer, Duration::ZERO, &model).await, "answer 1");
    assert_eq!(ask(&layer, Duration::ZERO, &model).await, "answer 1");
    model.was_asked(2).await;
    let gone = async {
        // The model is held by the test, and by the task as long as there is one.
        while Arc::strong_count(&model.asked) > 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.unwrap();
    assert_eq!(model.asked(), 2);
}
