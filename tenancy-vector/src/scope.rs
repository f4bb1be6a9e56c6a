//! The tokens that a back end is called with.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

#[cfg(feature = "pgvector")]
use tenancy_core::TenantContext;
use tenancy_core::{CorpusChange, Entered, ErasureScope, Life, RealmTag};

#[cfg(feature = "pgvector")]
use crate::points::Owner;
use crate::points::Points;

/// Whose points. Built by this crate only, from a call that was let in, and gone when the call is: it is borrowed and
/// not `Clone`, so a back end can't keep one.
pub struct VectorScope<'a> {
    life: Life,
    partition: &'a Partition,
    /// For back ends of this crate on stores that have a gate of their own.
    #[cfg(feature = "pgvector")]
    asked_by: AskedBy<'a>,
}

/// Who asks a back end for something.
#[cfg(feature = "pgvector")]
#[derive(Clone, Copy)]
pub(crate) enum AskedBy<'a> {
    /// A tenant, for its own points.
    Tenant(&'a TenantContext),
    /// A tenant, for those of a shared corpus.
    Reader(&'a TenantContext),
    /// An operator, for those of a shared corpus.
    Publisher,
    /// An operator, for the end of a life.
    Erasure,
}

impl<'a> VectorScope<'a> {
    /// Of a call that was let in, on points that its handle is about.
    pub(crate) fn of_call(let_in: &'a Entered<'_>, points: &'a Points) -> Self {
        #[cfg(not(feature = "pgvector"))]
        let _shown = let_in;
        Self {
            life: points.owner.life(),
            partition: &points.partition,
            #[cfg(feature = "pgvector")]
            asked_by: match &points.owner {
                Owner::Tenant(context) => AskedBy::Tenant(context),
                Owner::Shared(_) => AskedBy::Reader(let_in.context()),
            },
        }
    }

    /// Of a change of a shared corpus.
    fn of_change(_begun: &'a CorpusChange, points: &'a Points) -> Self {
        Self {
            life: points.owner.life(),
            partition: &points.partition,
            #[cfg(feature = "pgvector")]
            asked_by: AskedBy::Publisher,
        }
    }

    /// The life: every engine request carries the condition that a point's is this one.
    #[must_use]
    pub const fn life(&self) -> Life {
        self.life
    }

    /// Who asks, to enter a store that has a gate of its own.
    #[cfg(feature = "pgvector")]
    pub(crate) const fn asked_by(&self) -> AskedBy<'a> {
        self.asked_by
    }

    /// Another life's, and perhaps in another place, as a careless back end would have it.
    #[cfg(test)]
    pub(crate) fn mistaken<'b>(&'b self, life: Life, place: Option<&'b Partition>) -> VectorScope<'b> {
        VectorScope {
            life,
            partition: place.unwrap_or(self.partition),
            #[cfg(feature = "pgvector")]
            asked_by: self.asked_by,
        }
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

/// Whose points, where they may be written. Whoever may write may read: it is a [`VectorScope`] too, and no reader's becomes one.
pub struct WriteScope<'a>(VectorScope<'a>);

impl<'a> WriteScope<'a> {
    /// Of a call that was let in, on the points of the tenant that calls.
    pub(crate) fn of_call(let_in: &'a Entered<'_>, points: &'a Points) -> Self {
        Self(VectorScope::of_call(let_in, points))
    }

    /// Of a change of a shared corpus.
    pub(crate) fn of_change(begun: &'a CorpusChange, points: &'a Points) -> Self {
        Self(VectorScope::of_change(begun, points))
    }

    #[cfg(test)]
    pub(crate) const fn mistaken(scope: VectorScope<'a>) -> Self {
        Self(scope)
    }
}

/// Whose points are to go for good: of an erasure, and of the end of a shared corpus.
pub struct DropScope<'a>(VectorScope<'a>);

impl<'a> DropScope<'a> {
    pub(crate) const fn of_erasure(scope: &'a ErasureScope<'_>, partition: &'a Partition) -> Self {
        Self(VectorScope {
            life: scope.life(),
            partition,
            #[cfg(feature = "pgvector")]
            asked_by: AskedBy::Erasure,
        })
    }

    /// Of the end of a shared corpus.
    pub(crate) fn of_change(begun: &'a CorpusChange, points: &'a Points) -> Self {
        Self(VectorScope::of_change(begun, points))
    }

    /// Of a tenant that the conformance suite was given for that.
    pub(crate) fn of_trial(let_in: &'a Entered<'_>, points: &'a Points) -> Self {
        Self(VectorScope::of_call(let_in, points))
    }

    #[cfg(test)]
    pub(crate) const fn mistaken(scope: VectorScope<'a>) -> Self {
        Self(scope)
    }
}

impl<'a> Deref for WriteScope<'a> {
    type Target = VectorScope<'a>;

    fn deref(&self) -> &VectorScope<'a> {
        &self.0
    }
}

impl<'a> Deref for DropScope<'a> {
    type Target = VectorScope<'a>;

    fn deref(&self) -> &VectorScope<'a> {
        &self.0
    }
}

impl fmt::Debug for WriteScope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WriteScope({:?})", self.life)
    }
}

impl fmt::Debug for DropScope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DropScope({:?})", self.life)
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
