//! The token that a back end is called with.

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "pgvector")]
use tenancy_core::TenantContext;
use tenancy_core::{Entered, ErasureScope, Life, RealmTag};

/// Whose points. Built by this crate only, from a call that was let in, and gone when the call is: it is borrowed and
/// not `Clone`, so a back end can't keep one.
pub struct VectorScope<'a> {
    life: Life,
    partition: &'a Partition,
    /// For back ends of this crate on stores that have a gate of their own. None in an erasure.
    #[cfg(feature = "pgvector")]
    context: Option<&'a TenantContext>,
}

impl<'a> VectorScope<'a> {
    pub(crate) fn of_call(entered: &'a Entered<'_>, partition: &'a Partition) -> Self {
        Self {
            life: entered.context().life(),
            partition,
            #[cfg(feature = "pgvector")]
            context: Some(entered.context()),
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

    /// Whose call it is, to enter a store that has a gate of its own. Nobody's in an erasure.
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
