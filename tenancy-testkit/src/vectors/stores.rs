//! The three stores that are compared.

use std::any::Any;

use tenancy_core::Realm;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::{Change, Schema, TenantVectors, VectorStore};

use super::random::Random;
use super::{Engine, Made, data};
use crate::TestTenants;

/// The first tenant's points among those of two others, alone, and in the plain back end.
pub(super) struct Stores {
    pub(super) among: TenantVectors,
    pub(super) alone: TenantVectors,
    pub(super) plain: TenantVectors,
    pub(super) engine: Engine,
    others: Vec<TenantVectors>,
    tenants: TestTenants,
    _kept: [Box<dyn Any + Send + Sync>; 2],
}

impl Stores {
    #[expect(clippy::future_not_send, reason = "what makes a back end may be any future")]
    pub(super) async fn new(schema: &Schema, engine: Engine, make: &impl AsyncFn(&Realm, &Schema) -> Made) -> Self {
        let tenants = TestTenants::builder().tenant("initech").build().await;
        let realm = tenants.realm();
        let [(shared, kept), (own, kept_too)] = [make(realm, schema).await, make(realm, schema).await];
        let [shared, own] = [shared, own].map(|backend| VectorStore::new(realm, backend, schema.clone()));
        let plain = VectorStore::new(realm, ReferenceBackend::new(), schema.clone());
        let first = tenants.context("acme").await;
        let mut others = Vec::new();
        for other in ["globex", "initech"] {
            others.push(shared.scoped(&tenants.context(other).await).unwrap());
        }
        Self {
            among: shared.scoped(&first).unwrap(),
            alone: own.scoped(&first).unwrap(),
            plain: plain.scoped(&first).unwrap(),
            engine,
            others,
            tenants,
            _kept: [kept, kept_too],
        }
    }

    /// Some changes of the first tenant's points, in all three, and others of the others'.
    pub(super) async fn change(&self, schema: &Schema, random: &mut Random, at: &str) {
        let changes = random.many(1, 2, |random| data::change(schema, random, self.engine));
        for first in [&self.among, &self.alone, &self.plain] {
            made(first, &changes, at).await;
        }
        for other in &self.others {
            made(other, &[data::change(schema, random, self.engine)], at).await;
        }
    }

    /// Nothing that was asked left a breach on record.
    pub(super) async fn ensure_no_breach(&self) {
        assert!(!self.tenants.denied_rules().await.contains(&"store.breach".to_owned()));
    }
}

async fn made(tenant: &TenantVectors, changes: &[Change], at: &str) {
    tenant.change(changes.to_vec()).await.unwrap_or_else(|error| panic!("{at}: {changes:?}: {error:?}"));
}
