//! From "no row" to "not visible".

use tenancy_core::{Denial, Pass};

use crate::error::PgError;
use crate::savepoint::TenantSavepoint;
use crate::tenant_db::TenantDb;
use crate::tenant_tx::TenantTx;

/// Makes of a missing row a denial.
///
/// Under row level security somebody else's row and one that never was look alike, and nobody looks across the boundary
/// to tell them apart. A listing that found nothing is empty; an id that named nothing was denied.
pub trait OrNotVisible {
    /// What is there when it is there.
    type Row;

    /// The row, or [`Denial::NotVisible`], on record.
    ///
    /// # Errors
    /// [`PgError::Denied`].
    fn or_not_visible(self, mine: &impl Scoped) -> Result<Self::Row, PgError>;
}

impl<T> OrNotVisible for Option<T> {
    type Row = T;

    fn or_not_visible(self, mine: &impl Scoped) -> Result<T, PgError> {
        self.ok_or_else(|| mine.pass(sealed::ThisCrate(())).refuse("pg.row", Denial::NotVisible).into())
    }
}

/// A handle in a tenant's scope: [`TenantDb`], [`TenantTx`] and [`TenantSavepoint`]. Sealed.
pub trait Scoped: sealed::HasPass {}

impl Scoped for TenantDb {}
impl Scoped for TenantTx<'_> {}
impl Scoped for TenantSavepoint<'_, '_> {}

mod sealed {
    use super::{Pass, TenantDb, TenantSavepoint, TenantTx};

    /// A bound on a sealed trait brings its functions into scope for everybody, so the one that gives the pass away asks
    /// for a value that only this crate can make.
    #[derive(Debug)]
    pub struct ThisCrate(pub(super) ());

    pub trait HasPass {
        fn pass(&self, by: ThisCrate) -> &Pass;
    }

    impl HasPass for TenantDb {
        fn pass(&self, _: ThisCrate) -> &Pass {
            self.pass()
        }
    }

    impl HasPass for TenantSavepoint<'_, '_> {
        fn pass(&self, _: ThisCrate) -> &Pass {
            self.tx().pass()
        }
    }

    impl HasPass for TenantTx<'_> {
        fn pass(&self, _: ThisCrate) -> &Pass {
            self.pass()
        }
    }
}
