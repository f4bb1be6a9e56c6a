//! What the pool counts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tenancy_core::{Metric, Recorder};
use tenancy_testkit::TestTenants;

/// How often each event came.
#[derive(Clone, Default)]
pub(crate) struct Tally(Arc<Mutex<BTreeMap<String, u64>>>);

impl Recorder for Tally {
    fn count(&self, metric: Metric) {
        let word = match metric {
            Metric::Event { store, event } => format!("{} {event}", store.as_str()),
            Metric::Denied { rule } => format!("denied {rule}"),
            other => format!("{other:?}"),
        };
        *self.0.lock().unwrap().entry(word).or_default() += 1;
    }
}

impl Tally {
    /// A realm that counts here.
    pub(crate) async fn tenants(&self) -> TestTenants {
        let tally = self.clone();
        TestTenants::builder().build_with(|ready| ready.metrics(tally)).await
    }

    /// How often one of the pool's events came.
    pub(crate) fn of(&self, event: &str) -> u64 {
        self.0.lock().unwrap().get(&format!("postgres {event}")).copied().unwrap_or(0)
    }

    /// Everything that was counted.
    pub(crate) fn all(&self) -> BTreeMap<String, u64> {
        self.0.lock().unwrap().clone()
    }
}
