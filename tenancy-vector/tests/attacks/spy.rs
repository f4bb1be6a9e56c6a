//! A back end that shows what it keeps, and lies.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Map, Value};
use tenancy_vector::{BackendError, ScoredPayload, StoredPayload, WriteRequest};

use crate::fake::Hooks;

/// What the back end was told to keep: a spy for those who want to know what an id is kept as.
#[derive(Clone, Default)]
pub(crate) struct Spy {
    kept: Arc<Mutex<Vec<Map<String, Value>>>>,
    pub(crate) reads: Arc<AtomicU64>,
    lies: Arc<Mutex<Vec<Map<String, Value>>>>,
    pub(crate) instead: Arc<AtomicBool>,
}

#[async_trait]
impl Hooks for Spy {
    async fn before_write(&self, request: &WriteRequest) -> Result<bool, BackendError> {
        for write in request.writes() {
            if let tenancy_vector::Write::Upsert { points, .. } = write {
                self.kept.lock().unwrap().extend(points.iter().map(|point| point.payload().clone()));
            }
        }
        Ok(true)
    }

    async fn before_read(&self, _name: &'static str) -> Result<(), BackendError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Each answer has a lie in place of its last hit, or behind it.
    fn answers(&self, mut honest: Vec<ScoredPayload>) -> Vec<ScoredPayload> {
        let lies = self.lies.lock().unwrap().clone();
        if !lies.is_empty() && self.instead.load(Ordering::Relaxed) {
            honest.pop();
        }
        honest.extend(lies.into_iter().map(|lie| ScoredPayload::new(0.5, StoredPayload::new(lie))));
        honest
    }
}

impl Spy {
    pub(crate) fn kept(&self, n: usize) -> Map<String, Value> {
        self.kept.lock().unwrap()[n].clone()
    }

    pub(crate) fn lie(&self, lies: Vec<Map<String, Value>>) {
        *self.lies.lock().unwrap() = lies;
    }
}
