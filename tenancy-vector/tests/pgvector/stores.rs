//! The three stores that random questions are asked of.

use tenancy_testkit::TestTenants;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::{Schema, TenantVectors, VectorStore};

use crate::data;
use crate::random::Random;
use crate::world::World;

/// The first tenant's points among those of two others, alone in another database, and in the plain back end.
pub(crate) struct Stores {
    pub(crate) among: TenantVectors,
    pub(crate) alone: TenantVectors,
    pub(crate) plain: TenantVectors,
    others: Vec<TenantVectors>,
    tenants: TestTenants,
}

impl Stores {
    pub(crate) async fn new(schema: &Schema) -> Self {
        let tenants = TestTenants::builder().tenant("initech").build().await;
        let first = tenants.context("acme").await;
        let shared = World::new(schema.clone()).await.store(&tenants).await;
        let own = World::new(schema.clone()).await.store(&tenants).await;
        let plain = VectorStore::new(tenants.realm(), ReferenceBackend::new(), schema.clone());
        let mut others = Vec::new();
        for other in ["globex", "initech"] {
            others.push(shared.scoped(&tenants.context(other).await).unwrap());
        }
        Self {
            among: shared.scoped(&first).unwrap(),
            alone: own.scoped(&first).unwrap(),
            plain: plain.scoped(&first).unwrap(),
            others,
            tenants,
        }
    }

    /// A change of the first tenant's points, in all three, and others of the others'.
    pub(crate) async fn change(&self, schema: &Schema, random: &mut Random, at: &str) {
        let change = data::change(schema, random);
        for first in [&self.among, &self.alone, &self.plain] {
            first.change(vec![change.clone()]).await.unwrap_or_else(|error| panic!("{at}: {change:?}: {error:?}"));
        }
        for other in &self.others {
            other.change(vec![data::change(schema, random)]).await.unwrap();
        }
    }

    /// Nothing that was asked left a breach on record.
    pub(crate) async fn ensure_no_breach(&self) {
        assert!(!self.tenants.denied_rules().await.contains(&"store.breach".to_owned()));
    }
}
