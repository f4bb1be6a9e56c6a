//! A probe that is given up half-way.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use tenancy_cache::EngineSalt;
use tenancy_cache::engine::{EngineError, Observed, PrefixEngine};
use tenancy_cache::probe::SaltVerdict;
use tenancy_testkit::{StubEngine, drop_at_every_poll};

use crate::{by_tokens, client_of};

/// Keeps whole prompts, in this process, and takes its time.
#[derive(Default)]
struct Whole {
    kept: Mutex<HashSet<(Option<String>, String)>>,
    asked: Mutex<usize>,
}

#[async_trait]
impl PrefixEngine for Whole {
    async fn ask(&self, prompt: &str, salt: Option<&EngineSalt>) -> Result<Observed, EngineError> {
        *self.asked.lock().unwrap() += 1;
        tokio::task::yield_now().await;
        let tokens = prompt.split(' ').count() as u64;
        let new = self.kept.lock().unwrap().insert((salt.map(|salt| salt.as_str().to_owned()), prompt.to_owned()));
        Ok(Observed {
            cached_tokens: Some(if new { 0 } else { tokens }),
            prompt_tokens: Some(tokens),
            took: Duration::ZERO,
        })
    }
}

#[tokio::test]
async fn nothing_is_asked_after_a_drop_and_the_next_run_is_whole() {
    let (engine, probe) = (Whole::default(), by_tokens());
    let polls = drop_at_every_poll(
        || probe.run(&engine),
        async |polls, report| {
            let asked = std::mem::take(&mut *engine.asked.lock().unwrap());
            assert_eq!(asked, polls.min(31), "one more with each poll, and none after the drop");
            if let Some(report) = report {
                assert_eq!((report.verdict(), report.asks().len()), (SaltVerdict::Honoured, 30));
            }
        },
    )
    .await;
    assert_eq!(polls, 32);
}

#[tokio::test]
async fn a_run_that_is_dropped_on_the_way_asks_no_more() {
    let engine = StubEngine::honours_salts().computes_for(Duration::from_micros(100)).start().await;
    let client = client_of(&engine);
    for millis in [1, 5, 20, 60, 150] {
        let dropped = tokio::time::timeout(Duration::from_millis(millis), by_tokens().run(&client)).await;
        assert!(dropped.is_err(), "it takes longer than that");
        tokio::time::sleep(Duration::from_millis(50)).await;
        let asked = engine.requests().len();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(engine.requests().len(), asked);
    }
    let report = by_tokens().run(&client).await;
    assert_eq!(report.verdict(), SaltVerdict::Honoured, "{report}");
}
