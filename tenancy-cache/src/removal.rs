//! Removals: owed from before they begin until they have happened.

use std::time::Duration;

use tenancy_core::Entered;
use tenancy_core::purpose::{CacheKey as KeyPurpose, Digest};

use crate::backend::CacheScope;
use crate::caches::Scope;
use crate::error::{Bypass, CacheError};
use crate::key::Name;
use crate::parts::EntryParts;

impl Scope {
    /// Removes what is kept for a question, while nothing is put into the layer. `owed` names the question whatever the
    /// moment; `remove` is given the name of its parts at this one.
    ///
    /// Failed or dropped, it leaves the layer bypassed until the same question's removal, or a flush, succeeds.
    pub(crate) async fn invalidate<P: EntryParts>(
        &self,
        entered: Entered<'_>,
        owed: Digest<KeyPurpose>,
        parts: &P,
        remove: impl AsyncFnOnce(&Entered<'_>, &Name) -> Result<(), CacheError>,
    ) -> Result<(), CacheError> {
        let layer = self.state.layer(P::LAYER);
        let removal = layer.owe(owed);
        let alone = layer.fills.write().await;
        layer.retire_fills();
        let removed = match self.name(&entered, parts).await {
            Ok(name) => remove(&entered, &name).await,
            // What was kept before is not found after it.
            Err(CacheError::Bypassed(Bypass::CorpusWrite)) => Ok(()),
            Err(error) => Err(error),
        };
        drop(alone);
        match removed {
            Ok(()) => {
                layer.settle(&owed, removal);
                entered.changed();
                Ok(())
            }
            Err(CacheError::Denied(denial)) => Err(entered.deny(denial).into()),
            Err(error) => {
                entered.failed();
                Err(error)
            }
        }
    }

    pub(crate) async fn remove(&self, entered: &Entered<'_>, name: &Name) -> Result<(), CacheError> {
        let (scope, key) = (CacheScope::entered(entered, &self.state.tag), self.state.tag.key(name));
        let late = self.shared.settings.of(name.layer()).ttl + LONGEST_FILL;
        let removed = self.ask(self.backend().remove(&scope, &key, late)).await;
        removed.map_err(CacheError::Invalidate)
    }
}

/// Longer than a context lives, and so than a fill is under way that was begun under one.
const LONGEST_FILL: Duration = Duration::from_secs(24 * 3600);
