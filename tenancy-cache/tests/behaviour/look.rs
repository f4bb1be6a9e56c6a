//! Looking and filling where a test expects them to go well.

use tenancy_cache::{EntryParts, Lookup, Put, Slot, TenantLayer};

/// What a look finds, and the place when it finds nothing.
pub(crate) trait Look<P> {
    async fn slot(&self, parts: &P) -> Slot<String>;
    async fn hit(&self, parts: &P) -> Option<String>;
    async fn fill(&self, parts: &P, value: &str);
}

impl<P: EntryParts> Look<P> for TenantLayer<P, String> {
    async fn slot(&self, parts: &P) -> Slot<String> {
        match self.lookup(parts).await.unwrap() {
            Lookup::Miss(slot) => slot,
            other => panic!("a miss, not {other:?}"),
        }
    }

    async fn hit(&self, parts: &P) -> Option<String> {
        match self.lookup(parts).await.unwrap() {
            Lookup::Hit(value) => Some(value),
            Lookup::Miss(_) => None,
            Lookup::Bypass(reason) => panic!("no bypass: {reason}"),
        }
    }

    async fn fill(&self, parts: &P, value: &str) {
        assert_eq!(self.slot(parts).await.put(&value.to_owned()).await.unwrap(), Put::Stored);
    }
}
