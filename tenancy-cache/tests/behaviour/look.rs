//! Looking and filling where a test expects them to go well.

use tenancy_cache::{EntryParts, Lookup, Put, Slot, TenantLayer};
use tenancy_core::{CorpusWrite, Gate, StoreName, TenantContext};
use tenancy_testkit::TestTenants;

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

/// A write to the tenant's documents that has begun.
pub(crate) async fn begin_write(tenants: &TestTenants, context: &TenantContext) -> CorpusWrite {
    let pass = Gate::new(tenants.realm(), StoreName::new("documents")).scoped(context).unwrap();
    let entered = pass.enter("documents.write").await.unwrap();
    let write = entered.begin_corpus_write().await.unwrap();
    entered.changed();
    write
}
