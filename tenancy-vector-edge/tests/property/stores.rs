//! The three stores that are compared.

use tempfile::TempDir;
use tenancy_testkit::TestTenants;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::{Schema, TenantVectors, VectorBackend, VectorStore};
use tenancy_vector_edge::{EdgeBackend, EdgeOptions};

use crate::data;
use crate::random::Random;

/// The first tenant's points among those of two others, alone, and in the plain back end.
pub(crate) struct Stores {
    pub(crate) among: TenantVectors,
    pub(crate) alone: TenantVectors,
    pub(crate) plain: TenantVectors,
    others: Vec<TenantVectors>,
    _tenants: TestTenants,
    _roots: [TempDir; 2],
}

impl Stores {
    pub(crate) async fn new(schema: &Schema) -> Self {
        let tenants = TestTenants::builder().tenant("initech").build().await;
        let roots = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [shared, own] = roots.each_ref().map(|root| EdgeBackend::open(EdgeOptions::new(root.path())).unwrap());
        let first = tenants.context("acme").await;
        let store = |backend: Box<dyn VectorBackend>| {
            VectorStore::new(tenants.realm(), std::sync::Arc::<dyn VectorBackend>::from(backend), schema.clone())
        };
        let shared = store(Box::new(shared));
        let mut others = Vec::new();
        for other in ["globex", "initech"] {
            others.push(shared.scoped(&tenants.context(other).await).unwrap());
        }
        Self {
            among: shared.scoped(&first).unwrap(),
            alone: store(Box::new(own)).scoped(&first).unwrap(),
            plain: store(Box::new(ReferenceBackend::new())).scoped(&first).unwrap(),
            others,
            _tenants: tenants,
            _roots: roots,
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
}
