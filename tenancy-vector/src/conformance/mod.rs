//! What every back end must do, as functions to call from its tests, and a back end that does it plainly.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use tenancy_vector::conformance::{self, ReferenceBackend};
//!
//! let tenants = tenancy_testkit::TestTenants::new().await;
//! let (one, two) = (tenants.context("acme").await, tenants.context("globex").await);
//! conformance::run(tenants.realm(), ReferenceBackend::new(), &one, &two).await.unwrap();
//! # });
//! ```

mod checks;
mod corpus;
mod reference;
mod shared;

use std::sync::Arc;

use tenancy_core::{Realm, TenantContext};

pub use checks::{dropping, empty_partitions, engine_ids, life_condition, ranking, replacing, separation};
pub use reference::ReferenceBackend;
pub use shared::shared_corpus;

use crate::backend::VectorBackend;
use crate::error::{BackendError, VectorError};

/// Runs every check, in an order that ends with the partition of the second context dropped for good.
///
/// The contexts are of two tenants of the realm without points in the back end.
///
/// # Errors
/// The first rule that does not hold, or a call that failed.
pub async fn run(
    realm: &Realm,
    backend: impl VectorBackend,
    one: &TenantContext,
    two: &TenantContext,
) -> Result<(), Nonconformance> {
    let backend: Arc<dyn VectorBackend> = Arc::new(backend);
    backend.prepare(&checks::schema()?).await?;
    empty_partitions(realm, &backend, one).await?;
    ranking(realm, &backend, one).await?;
    separation(realm, &backend, one, two).await?;
    replacing(realm, &backend, one).await?;
    engine_ids(realm, &backend, one).await?;
    life_condition(realm, &backend, one, two).await?;
    dropping(realm, &backend, one, two).await
}

/// What a back end did not do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Nonconformance {
    /// A rule that does not hold.
    #[error("the back end broke the rule: {0}")]
    Broken(&'static str),
    /// A call that should have gone through.
    #[error("a call of the conformance suite failed")]
    Failed(#[from] VectorError),
}

impl From<BackendError> for Nonconformance {
    fn from(error: BackendError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<tenancy_core::Denial> for Nonconformance {
    fn from(denial: tenancy_core::Denial) -> Self {
        Self::Failed(denial.into())
    }
}

fn ensure(holds: bool, rule: &'static str) -> Result<(), Nonconformance> {
    if holds { Ok(()) } else { Err(Nonconformance::Broken(rule)) }
}
