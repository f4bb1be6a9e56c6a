//! The keys an issuer has now, and when they are asked for again.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::jwks::{self, Jwks, JwksSource, Origin};
use super::key_set::{KeySet, VerificationKey};
use crate::denial::CredentialFault;

/// The keys of one issuer. Times are the realm's monotonic clock.
pub(super) enum KeyCache {
    Fixed(Arc<KeySet>),
    Refreshed(Arc<Refreshed>),
}

impl KeyCache {
    pub(super) fn new(jwks: Jwks) -> Self {
        match jwks.0 {
            Origin::Memory(set) => Self::Fixed(set),
            Origin::Source(source) => {
                Self::Refreshed(Arc::new(Refreshed { source, held: RwLock::default(), last_attempt: Arc::default() }))
            }
        }
    }

    /// Finds the key of this id, asking the source again where that is due.
    ///
    /// Cancel-safe: a refresh that has begun is finished in its own task, so callers who hang up can't keep an issuer's
    /// new keys away from everybody else.
    pub(super) async fn find(&self, id: Option<&str>, now: Duration) -> Result<Arc<VerificationKey>, CredentialFault> {
        match self {
            Self::Fixed(set) => set.find(id).ok_or(CredentialFault::KeyUnknown),
            Self::Refreshed(keys) => keys.find(id, now).await,
        }
    }
}

impl fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyCache(..)")
    }
}

pub(super) struct Refreshed {
    source: Arc<dyn JwksSource>,
    held: RwLock<Option<Held>>,
    /// Also the turn to refresh: who holds the lock is the only one to ask the source.
    last_attempt: Arc<Mutex<Option<Duration>>>,
}

#[derive(Clone)]
struct Held {
    set: Arc<KeySet>,
    since: Duration,
}

impl Held {
    fn is_younger_than(&self, age: Duration, now: Duration) -> bool {
        now.saturating_sub(self.since) < age
    }
}

impl Refreshed {
    async fn find(self: &Arc<Self>, id: Option<&str>, now: Duration) -> Result<Arc<VerificationKey>, CredentialFault> {
        let held = self.held(now);
        match held.as_ref().and_then(|held| held.set.find(id)) {
            Some(key) if held.is_some_and(|held| held.is_younger_than(FRESH_FOR, now)) => return Ok(key),
            // One caller refreshes a stale set; the others go on with it meanwhile.
            Some(key) => match Arc::clone(&self.last_attempt).try_lock_owned() {
                Ok(turn) => self.refresh(turn, now).await,
                Err(_) => return Ok(key),
            },
            None => {
                let turn = Arc::clone(&self.last_attempt).lock_owned().await;
                self.refresh(turn, now).await;
            }
        }
        let held = self.held(now).ok_or(CredentialFault::KeysUnavailable)?;
        held.set.find(id).ok_or(CredentialFault::KeyUnknown)
    }

    /// Asks the source, unless somebody did a moment ago. Those who waited for their turn find that somebody did.
    async fn refresh(self: &Arc<Self>, mut turn: OwnedMutexGuard<Option<Duration>>, now: Duration) {
        if turn.is_some_and(|last| now.saturating_sub(last) < COOL_DOWN) {
            return;
        }
        *turn = Some(now);
        let this = Arc::clone(self);
        let attempt = tokio::spawn(async move {
            if let Ok(set) = jwks::load(&*this.source).await {
                let held = Held { set: Arc::new(set), since: now };
                *this.held.write().unwrap_or_else(PoisonError::into_inner) = Some(held);
            }
            drop(turn);
        });
        // A source that panics counts as one that failed.
        _ = attempt.await;
    }

    /// The set, unless it is too old even for an issuer that does not answer.
    fn held(&self, now: Duration) -> Option<Held> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner).clone();
        held.filter(|held| held.is_younger_than(STALE_FOR, now))
    }
}

const FRESH_FOR: Duration = Duration::from_secs(60 * 60);
const STALE_FOR: Duration = Duration::from_secs(24 * 60 * 60);
const COOL_DOWN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use tokio::sync::Semaphore;

    use super::*;
    use crate::redacted::BoxError;

    /// Answers with key `a` while it is up, one call per permit.
    #[derive(Clone)]
    struct Source(Arc<State>);

    struct State {
        calls: AtomicUsize,
        permits: Semaphore,
        answer: RwLock<&'static str>,
    }

    impl Source {
        fn new(permits: usize) -> Self {
            let answer = RwLock::new(KEY_A);
            Self(Arc::new(State { calls: AtomicUsize::new(0), permits: Semaphore::new(permits), answer }))
        }

        fn cache(&self) -> Arc<KeyCache> {
            Arc::new(KeyCache::new(Jwks::source(self.clone())))
        }

        fn calls(&self) -> usize {
            self.0.calls.load(Ordering::SeqCst)
        }

        fn answer(&self, json: &'static str) {
            *self.0.answer.write().unwrap() = json;
        }
    }

    #[async_trait]
    impl JwksSource for Source {
        async fn fetch(&self) -> Result<String, BoxError> {
            self.0.calls.fetch_add(1, Ordering::SeqCst);
            self.0.permits.acquire().await?.forget();
            match *self.0.answer.read().unwrap() {
                "panic" => panic!("a source that panics"),
                json => Ok(json.to_owned()),
            }
        }
    }

    const KEY_A: &str =
        r#"{"keys":[{"kid":"a","kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
    const KEY_B: &str =
        r#"{"keys":[{"kid":"b","kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
    const PLENTY: usize = 1_000;

    async fn find(cache: &KeyCache, id: &str, seconds: u64) -> Option<CredentialFault> {
        cache.find(Some(id), Duration::from_secs(seconds)).await.err()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_burst_of_unknown_key_ids_is_one_fetch() {
        let source = Source::new(PLENTY);
        let cache = source.cache();
        let burst = async |second| {
            let tasks: Vec<_> = (0..1_000)
                .map(|n| {
                    let cache = Arc::clone(&cache);
                    tokio::spawn(async move { find(&cache, &format!("no-such-{n}"), second).await })
                })
                .collect();
            for task in tasks {
                assert_eq!(task.await.unwrap(), Some(CredentialFault::KeyUnknown));
            }
        };
        burst(100).await;
        assert_eq!(source.calls(), 1);
        burst(109).await;
        assert_eq!(source.calls(), 1, "within the cool-down");
        burst(110).await;
        assert_eq!(source.calls(), 2, "after it");
        assert_eq!(find(&cache, "a", 110).await, None, "the good key is still there");
    }

    #[tokio::test]
    async fn a_dropped_leader_does_not_take_the_refresh_with_it() {
        let source = Source::new(0);
        let cache = source.cache();
        let leader = tokio::spawn({
            let cache = Arc::clone(&cache);
            async move { find(&cache, "a", 0).await }
        });
        while source.calls() == 0 {
            tokio::task::yield_now().await;
        }
        let waiter = tokio::spawn({
            let cache = Arc::clone(&cache);
            async move { find(&cache, "a", 1).await }
        });
        leader.abort();
        assert!(leader.await.unwrap_err().is_cancelled());
        source.0.permits.add_permits(1);
        assert_eq!(waiter.await.unwrap(), None);
        assert_eq!(source.calls(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_that_hangs_costs_five_seconds_and_one_attempt() {
        let source = Source::new(0);
        let cache = source.cache();
        let began = tokio::time::Instant::now();
        assert_eq!(find(&cache, "a", 0).await, Some(CredentialFault::KeysUnavailable));
        assert_eq!(began.elapsed(), jwks::FETCH_TIME);
        assert_eq!(find(&cache, "a", 9).await, Some(CredentialFault::KeysUnavailable));
        assert_eq!(source.calls(), 1, "the attempt counts for the cool-down");
        source.0.permits.add_permits(1);
        assert_eq!(find(&cache, "a", 10).await, None);
    }

    #[tokio::test]
    async fn good_keys_outlive_a_failing_source_for_a_day() {
        let source = Source::new(PLENTY);
        let cache = source.cache();
        let (hour, day) = (60 * 60, 24 * 60 * 60);
        assert_eq!(find(&cache, "a", 0).await, None);
        for (n, bad) in ["", r#"{"keys":[]}"#, "panic"].into_iter().enumerate() {
            source.answer(bad);
            assert_eq!(find(&cache, "a", hour + 10 * n as u64).await, None, "{bad}");
        }
        assert_eq!(source.calls(), 4);
        assert_eq!(find(&cache, "a", day - 1).await, None);
        assert_eq!(find(&cache, "a", day + 9).await, Some(CredentialFault::KeysUnavailable));
        source.answer(KEY_B);
        assert_eq!(find(&cache, "a", day + 19).await, Some(CredentialFault::KeyUnknown), "rotated away");
        assert_eq!(find(&cache, "b", day + 19).await, None);
    }
}
