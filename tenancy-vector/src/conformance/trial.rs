//! A check under way.

use std::sync::Arc;

use tenancy_core::{Denial, Realm, TenantContext};

use super::corpus::schema;
use super::{Differs, Nonconformance, ReferenceBackend};
use crate::backend::VectorBackend;
use crate::error::{BackendError, VectorError};
use crate::point::Point;
use crate::store::VectorStore;
use crate::tenant::TenantVectors;

/// Whom and what a check is about, and what it asked last.
pub(super) struct Trial<'a> {
    pub(super) realm: &'a Realm,
    pub(super) backend: &'a Arc<dyn VectorBackend>,
    pub(super) one: &'a TenantContext,
    pub(super) two: &'a TenantContext,
    pub(super) asked: String,
}

impl Trial<'_> {
    /// Notes what is asked from here on.
    pub(super) fn asks(&mut self, what: impl Into<String>) {
        self.asked = what.into();
    }

    pub(super) fn mine(&self) -> Result<TenantVectors, VectorError> {
        scoped(self.realm, Arc::clone(self.backend), self.one)
    }

    pub(super) fn theirs(&self) -> Result<TenantVectors, VectorError> {
        scoped(self.realm, Arc::clone(self.backend), self.two)
    }

    /// A tenant's points in a plain back end of their own.
    pub(super) fn plain(&self, context: &TenantContext) -> Result<TenantVectors, VectorError> {
        scoped(self.realm, ReferenceBackend::new(), context)
    }

    /// The first tenant with these points in the back end, and in a plain one.
    pub(super) async fn with(&mut self, points: &[Point]) -> Result<(TenantVectors, TenantVectors), Fault> {
        self.asks(format!("an upsert of {} points", points.len()));
        let (mine, plain) = (self.mine()?, self.plain(self.one)?);
        mine.upsert(points.to_vec()).await?;
        plain.upsert(points.to_vec()).await?;
        Ok((mine, plain))
    }

    /// Deletes the points again, which are all that there are.
    pub(super) async fn clear(&mut self, mine: &TenantVectors, points: &[Point]) -> Result<(), Fault> {
        self.asks(format!("a deletion by {} ids", points.len()));
        let ids: Vec<_> = points.iter().map(Point::id).cloned().collect();
        ensure(mine.delete(&ids).await?.not_visible() == 0, "a deletion finds the points that are there")?;
        equal(mine.count(None).await?, 0, "all points can be deleted")
    }
}

fn scoped(realm: &Realm, backend: impl VectorBackend, context: &TenantContext) -> Result<TenantVectors, VectorError> {
    VectorStore::new(realm, backend, schema()?).scoped(context)
}

/// What ended a check, which does not know its own name.
pub(super) enum Fault {
    Broken { rule: &'static str, differs: Option<Differs> },
    Failed(VectorError),
}

impl Fault {
    pub(super) fn within(self, check: &'static str, asked: String) -> Nonconformance {
        match self {
            Self::Broken { rule, differs } => Nonconformance::Broken { check, rule, asked, differs },
            Self::Failed(source) => Nonconformance::Failed { check, asked, source },
        }
    }
}

impl From<VectorError> for Fault {
    fn from(error: VectorError) -> Self {
        match error {
            VectorError::Denied(Denial::StoreBreach) => Self::Broken { rule: ONLY_WHAT_WAS_ASKED, differs: None },
            error => Self::Failed(error),
        }
    }
}

impl From<BackendError> for Fault {
    fn from(error: BackendError) -> Self {
        VectorError::from(error).into()
    }
}

impl From<Denial> for Fault {
    fn from(denial: Denial) -> Self {
        VectorError::from(denial).into()
    }
}

pub(super) const fn ensure(holds: bool, rule: &'static str) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(Fault::Broken { rule, differs: None }) }
}

/// Two numbers of points are the same.
pub(super) fn equal(found: u64, wanted: u64, rule: &'static str) -> Result<(), Fault> {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand points at most")]
    let differs = Differs { place: None, found: found as f64, wanted: wanted as f64 };
    if found == wanted { Ok(()) } else { Err(Fault::Broken { rule, differs: Some(differs) }) }
}

/// What the handle refuses of any back end.
const ONLY_WHAT_WAS_ASKED: &str =
    "an answer has its tag, is of the life, meets the filter, comes once and within the limit";
