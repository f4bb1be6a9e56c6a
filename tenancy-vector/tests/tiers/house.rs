//! Two back ends, each of which can also be looked into by a store of its own.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use tenancy_testkit::TestTenants;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::tiers::{MemoryTiers, Mover, TenantMover, Tier, TieredBackend, Tiers};
use tenancy_vector::{Point, Scroll, TenantVectors, VectorBackend, VectorError, VectorStore};

use crate::cases;

pub(crate) struct House<S = ReferenceBackend, D = ReferenceBackend, T = MemoryTiers> {
    pub(crate) tenants: TestTenants,
    pub(crate) shared: S,
    pub(crate) dedicated: D,
    pub(crate) tiers: T,
    pub(crate) store: VectorStore,
    pub(crate) mover: Mover,
    patience: Duration,
}

impl House {
    pub(crate) async fn new() -> Self {
        Self::plain(MemoryTiers::new()).await
    }
}

impl<T: Tiers + Clone> House<ReferenceBackend, ReferenceBackend, T> {
    pub(crate) async fn plain(tiers: T) -> Self {
        Self::on(ReferenceBackend::new(), ReferenceBackend::new(), tiers).await
    }
}

impl<S: VectorBackend + Clone, D: VectorBackend + Clone, T: Tiers + Clone> House<S, D, T> {
    pub(crate) async fn on(shared: S, dedicated: D, tiers: T) -> Self {
        Self::patient(shared, dedicated, tiers, PATIENCE).await
    }

    pub(crate) async fn patient(shared: S, dedicated: D, tiers: T, patience: Duration) -> Self {
        let tenants = TestTenants::new().await;
        let tiered = TieredBackend::new(shared.clone(), dedicated.clone(), tiers.clone()).patience(patience);
        let mover = Mover::new(tenants.realm(), tiered.clone(), cases::schema());
        let store = VectorStore::new(tenants.realm(), tiered, cases::schema());
        Self { tenants, shared, dedicated, tiers, store, mover, patience }
    }

    /// What another process of the same deployment has.
    pub(crate) fn tiered(&self) -> TieredBackend {
        TieredBackend::new(self.shared.clone(), self.dedicated.clone(), self.tiers.clone()).patience(self.patience)
    }

    pub(crate) async fn of(&self, tenant: &str) -> TenantVectors {
        cases::of(&self.tenants, &self.store, tenant).await
    }

    pub(crate) async fn mover(&self, tenant: &str) -> TenantMover {
        self.mover.scoped(&self.tenants.context(tenant).await).unwrap()
    }

    /// Moves a life, and looks whether it is there. How many points were copied.
    pub(crate) async fn move_to(&self, tenant: &str, tier: Tier) -> Result<u64, VectorError> {
        let mut copied = 0;
        let mover = self.mover(tenant).await;
        mover.move_to(tier, |count| copied = count).await?;
        let placement = mover.placement().await?;
        assert_eq!((placement.tier(), placement.is_moving()), (tier, false));
        Ok(copied)
    }

    /// How many points of a tenant are in each back end.
    pub(crate) async fn counts(&self, tenant: &str) -> (u64, u64) {
        let shared = VectorStore::new(self.tenants.realm(), self.shared.clone(), cases::schema());
        let dedicated = VectorStore::new(self.tenants.realm(), self.dedicated.clone(), cases::schema());
        let shared = cases::of(&self.tenants, &shared, tenant).await.count(None).await.unwrap();
        (shared, cases::of(&self.tenants, &dedicated, tenant).await.count(None).await.unwrap())
    }
}

/// The number of each point that a scan of all finds, in pages; none comes twice.
pub(crate) async fn all(mine: &TenantVectors) -> BTreeMap<String, u64> {
    let (mut all, mut from) = (BTreeMap::new(), None);
    loop {
        let page = mine.scroll(&Scroll::new(), from.as_ref()).await.unwrap();
        from = page.next().cloned();
        for point in page.into_points() {
            let number = point.payload().get("n").and_then(serde_json::Value::as_u64).unwrap_or_default();
            assert!(all.insert(point.id().as_str().to_owned(), number).is_none(), "a point comes once");
        }
        if from.is_none() {
            return all;
        }
    }
}

pub(crate) fn numbered(name: &str, n: u64) -> Point {
    let dense = vec![1.0, 0.5, 0.0, 0.0];
    Point::hybrid(cases::id(name), dense, cases::terms(&[7]), cases::object(json!({ "n": n }))).unwrap()
}

/// A test that hangs fails.
pub(crate) async fn in_time<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), test).await.expect("the test hangs")
}

/// Long for what is in memory, and short to wait for: a mover waits twice as long.
pub(crate) const PATIENCE: Duration = Duration::from_millis(150);
