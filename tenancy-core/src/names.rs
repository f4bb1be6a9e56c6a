//! Names of data, many at once.

use std::fmt;
use std::marker::PhantomData;

use crate::encode::Fields;
use crate::purpose::{DataPurpose, Digest};

/// Derives names of data for one purpose, as [`TenantContext::derive`](crate::TenantContext::derive) does, where the context was
/// asked once for all of them: the points of one write, the hits of one answer. Not `Send`, so that no spawned work keeps
/// it while the context runs out.
pub struct Names<'k, P: DataPurpose> {
    key: &'k [u8; 32],
    purpose: PhantomData<*const P>,
}

impl<'k, P: DataPurpose> Names<'k, P> {
    pub(crate) const fn new(key: &'k [u8; 32]) -> Self {
        Self { key, purpose: PhantomData }
    }

    /// The name of what has these fields.
    #[must_use]
    pub fn derive(&self, fields: &Fields) -> Digest<P> {
        Digest::new(*blake3::keyed_hash(self.key, fields.as_bytes()).as_bytes())
    }
}

impl<P: DataPurpose> fmt::Debug for Names<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Names(..)")
    }
}
