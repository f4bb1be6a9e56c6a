//! A tenant among others is answered as if it were alone, on the real engine: [`tenancy_testkit::vectors`].

use std::sync::Arc;

use tenancy_testkit::scratch_directory;
use tenancy_testkit::vectors::{Engine, answered_as_if_alone};
use tenancy_vector_edge::{EdgeBackend, EdgeOptions};

/// 2,000 questions, times `TENANCY_TEST_SCALE`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_among_others_is_answered_as_if_alone() {
    let asked = answered_as_if_alone(0..25, Engine::Composed, async |_realm, _schema| {
        let root = scratch_directory();
        let backend = EdgeBackend::open(EdgeOptions::new(root.path())).unwrap();
        (Arc::new(backend) as _, Box::new(root) as _)
    });
    println!("{} questions", asked.await);
}
