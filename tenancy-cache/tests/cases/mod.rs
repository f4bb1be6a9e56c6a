//! Cases that come out alike on every back end: in memory, on one Redis and on a cluster.

mod c1;
mod c3;
mod c6;
pub(crate) mod c8;
pub(crate) mod pairs;

use std::sync::Arc;

use tenancy_cache::{Caches, TenantCaches};
use tenancy_testkit::TestTenants;

pub(crate) use self::c1::c1;
pub(crate) use self::c3::c3;
pub(crate) use self::c6::c6;
pub(crate) use self::c8::c8;

/// Where entries are kept.
pub(crate) trait Place: Sync {
    fn name(&self) -> &'static str;

    /// What a process has that keeps them there.
    fn process(&self, tenants: &TestTenants) -> Caches;
}

/// A realm with two tenants, and one process.
struct House {
    tenants: Arc<TestTenants>,
    caches: Caches,
    place: &'static str,
}

impl House {
    async fn on(place: &impl Place) -> Self {
        Self::with(place, TestTenants::new().await)
    }

    fn with(place: &impl Place, tenants: TestTenants) -> Self {
        Self { caches: place.process(&tenants), tenants: Arc::new(tenants), place: place.name() }
    }

    async fn of(&self, tenant: &str) -> TenantCaches {
        self.caches.scoped(&self.tenants.context(tenant).await).unwrap()
    }

    async fn of_user(&self, subject: &str, roles: &[&str]) -> TenantCaches {
        self.caches.scoped(&self.tenants.context_of("acme", subject, roles).await).unwrap()
    }
}
