//! The token that a back end is called with.

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "pgvector")]
use tenancy_core::TenantContext;
use tenancy_core::{CorpusChange, Entered, ErasureScope, Life, RealmTag};

use crate::points::Points;

/// Whose points. Built by this crate only, from a call that was let in, and gone when the call is: it is borrowed and
/// not `Clone`, so a back end can't keep one.
pub struct VectorScope<'a> {
    life: Life,
    partition: &'a Partition,
    /// For back ends of this crate on stores that have a gate of their own. None in an erasure and for a shared corpus.
    #[cfg(feature = "pgvector")]
    context: Option<&'a TenantContext>,
}

impl<'a> VectorScope<'a> {
    /// Of a call that was let in, on points that its handle is about.
    pub(crate) fn of_call(_let_in: &'a Entered<'_>, points: &'a Points) -> Self {
        Self::of(points)
    }

    /// Of a change of a shared corpus.
    pub(crate) fn of_change(_begun: &'a CorpusChange, points: &'a Points) -> Self {
        Self::of(points)
    }

    fn of(points: &'a Points) -> Self {
        Self {
            life: points.owner.life(),
            partition: &points.partition,
            #[cfg(feature = "pgvector")]
            context: points.owner.tenant(),
        }
    }

    pub(crate) const fn of_erasure(scope: &'a ErasureScope<'_>, partition: &'a Partition) -> Self {
        Self {
            life: scope.life(),
            partition,
            #[cfg(feature = "pgvector")]
            context: None,
        }
    }

    /// The life: every engine request carries the condition that a point's is this one.
    #[must_use]
    pub const fn life(&self) -> Life {
        self.life
    }

    /// The tenant, to enter a store that has a gate of its own. Nobody in an erasure and for a shared corpus.
    #[cfg(feature = "pgvector")]
    pub(crate) const fn context(&self) -> Option<&'a TenantContext> {
        self.context
    }

    /// The name of the life's partition: 65 characters of `[0-9a-f-]`, fit for a file, a collection or a shard key.
    #[must_use]
    pub fn partition(&self) -> &str {
        &self.partition.0
    }
}

impl fmt::Debug for VectorScope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VectorScope({:?})", self.life)
    }
}

/// The name of a partition: the realm's tag and the life, both of fixed length.
///
/// Not derived with the tenant's key: an erasure must find the partition when the key is destroyed already. A life is
/// random and names nobody.
#[derive(Clone)]
pub(crate) struct Partition(Arc<str>);

impl Partition {
    pub(crate) fn new(realm: RealmTag, life: Life) -> Self {
        use fmt::Write;
        let mut name = String::with_capacity(65);
        for byte in realm.as_bytes() {
            // Writing to a string does not fail.
            let _infallible = write!(name, "{byte:02x}");
        }
        let _infallible = write!(name, "-{}", life.uuid().simple());
        Self(name.into())
    }
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Partition(..)")
    }
}
