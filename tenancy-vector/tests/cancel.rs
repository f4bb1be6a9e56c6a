//! The futures of a handle, dropped at every await, on a back end that has many.

#[expect(dead_code, reason = "the other cases have tests of their own")]
mod cases;
#[path = "cases/fake.rs"]
mod fake;
#[path = "cases/cancel.rs"]
mod sweep;

use async_trait::async_trait;
use fake::{Fake, Hooks};
use tenancy_vector::{BackendError, VectorStore, WriteRequest};

#[tokio::test]
async fn a_dropped_call_leaves_the_store_whole_and_the_check_on_record() {
    let store = |realm: &_| VectorStore::new(realm, Fake::new(Hesitant), cases::schema());
    sweep::dropped_calls_leave_the_store_whole(store).await;
}

/// Gives way several times before and after it does what it is asked.
struct Hesitant;

#[async_trait]
impl Hooks for Hesitant {
    async fn before_write(&self, _request: &WriteRequest) -> Result<bool, BackendError> {
        self.after().await;
        Ok(true)
    }

    async fn before_read(&self, _name: &'static str) -> Result<(), BackendError> {
        self.after().await;
        Ok(())
    }

    async fn after(&self) {
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
    }
}
