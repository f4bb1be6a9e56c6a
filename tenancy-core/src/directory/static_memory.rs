//! A directory held in memory, from code or from TOML.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;

use super::{ApiKeyLookup, DirectoryError, Lookup, LookupBy, Standing, TenantDirectory, TenantRecord};
use crate::credential::{ApiKeyId, ApiKeyRecord};
use crate::id::{Life, TenantId};

/// Tenants from code or a file, for services whose tenants change with a deployment, and for tests.
///
/// Clones share one state: keep one for the control plane and give one to the realm. Changes take effect at the next
/// question, which the realm asks within the fence's bound, or at once after
/// [`Realm::hint`](crate::Realm::hint).
#[derive(Clone, Debug, Default)]
pub struct StaticDirectory {
    state: Arc<RwLock<State>>,
}

#[derive(Debug, Default)]
struct State {
    records: Vec<TenantRecord>,
    api_keys: HashMap<ApiKeyId, ApiKeyRecord>,
}

impl StaticDirectory {
    /// No tenants yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tenant.
    ///
    /// # Errors
    /// [`DirectoryConflict`] when a tenant that is there already has the name in any case, one of the claims, the row
    /// key or the life. A name and its claims are free again once its tenant is erased; a life and a row key never are.
    pub fn add(&self, record: TenantRecord) -> Result<(), DirectoryConflict> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(conflict) = state.records.iter().find_map(|present| conflict(present, &record)) {
            return Err(conflict);
        }
        let mut own: Vec<_> = record.claims().collect();
        own.sort_unstable();
        if own.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(DirectoryConflict::Claim);
        }
        state.records.push(record);
        Ok(())
    }

    /// Suspends a tenant.
    ///
    /// # Errors
    /// [`DirectoryConflict`] when there is no such living tenant.
    pub fn suspend(&self, id: &TenantId) -> Result<(), DirectoryConflict> {
        self.change(id, |record| record.standing_of(Standing::Suspended))
    }

    /// Serves a suspended tenant again. An erased one stays erased.
    ///
    /// # Errors
    /// As [`suspend`](Self::suspend).
    pub fn resume(&self, id: &TenantId) -> Result<(), DirectoryConflict> {
        self.change(id, |record| record.standing_of(Standing::Active))
    }

    /// Marks a tenant as erased, for ever.
    ///
    /// # Errors
    /// As [`suspend`](Self::suspend).
    pub fn erase(&self, id: &TenantId) -> Result<(), DirectoryConflict> {
        self.change(id, |record| record.standing_of(Standing::Erased))
    }

    /// Renames a tenant; its life, and with it all its data, goes on.
    ///
    /// # Errors
    /// [`DirectoryConflict`] when there is no such living tenant, or the new name is taken.
    pub fn rename(&self, id: &TenantId, to: TenantId) -> Result<(), DirectoryConflict> {
        {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            let taken = |r: &&TenantRecord| living(r) && r.id() != id && same_but_case(r.id(), &to);
            if state.records.iter().any(|r| taken(&r)) {
                return Err(DirectoryConflict::Name);
            }
        }
        self.change(id, |record| record.renamed(to))
    }

    /// Adds or replaces the stored form of an API key.
    pub fn put_api_key(&self, record: ApiKeyRecord) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.api_keys.insert(record.id().clone(), record);
    }

    /// The life of a living tenant, for the control plane.
    #[must_use]
    pub fn life_of(&self, id: &TenantId) -> Option<Life> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.records.iter().find(|r| living(r) && r.id() == id).map(TenantRecord::life)
    }

    fn change(
        &self,
        id: &TenantId,
        change: impl FnOnce(TenantRecord) -> TenantRecord,
    ) -> Result<(), DirectoryConflict> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let record = state.records.iter_mut().find(|r| living(r) && r.id() == id).ok_or(DirectoryConflict::Unknown)?;
        *record = change(record.clone());
        Ok(())
    }
}

#[async_trait]
impl TenantDirectory for StaticDirectory {
    async fn find(&self, lookup: Lookup<'_>) -> Result<Option<TenantRecord>, DirectoryError> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let answers = |r: &&TenantRecord| match lookup.by() {
            LookupBy::Claim { issuer, claim } => r.is_bound_to(issuer, claim),
            LookupBy::Life(life) => r.life() == life,
            LookupBy::Id(id) => r.id() == id,
        };
        // The living record first: an erased one may share its name and claims.
        let found = state.records.iter().filter(answers).min_by_key(|r| !living(r));
        Ok(found.cloned())
    }

    async fn api_key(&self, lookup: ApiKeyLookup<'_>) -> Result<Option<ApiKeyRecord>, DirectoryError> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        Ok(state.api_keys.get(lookup.id()).cloned())
    }
}

fn living(record: &TenantRecord) -> bool {
    record.standing() != Standing::Erased
}

/// Names that differ only in case are one name to a person, a file system or a mail client.
fn same_but_case(a: &TenantId, b: &TenantId) -> bool {
    a.as_str().eq_ignore_ascii_case(b.as_str())
}

fn conflict(present: &TenantRecord, new: &TenantRecord) -> Option<DirectoryConflict> {
    if present.life() == new.life() {
        return Some(DirectoryConflict::Life);
    }
    if present.row_key() == new.row_key() {
        return Some(DirectoryConflict::RowKey);
    }
    if !living(present) || !living(new) {
        return None;
    }
    if same_but_case(present.id(), new.id()) {
        return Some(DirectoryConflict::Name);
    }
    new.claims().any(|(issuer, claim)| present.is_bound_to(issuer, claim)).then_some(DirectoryConflict::Claim)
}

/// Why a change of the directory was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryConflict {
    /// Another tenant has the name, in some case.
    #[error("the name is taken, or differs from another only in case")]
    Name,
    /// Another tenant, or the same one twice, has the claim.
    #[error("an (issuer, claim) pair is bound twice")]
    Claim,
    /// Another tenant has or had the life.
    #[error("the life was used before")]
    Life,
    /// Another tenant has or had the row key.
    #[error("the row key was used before")]
    RowKey,
    /// No living tenant of that name.
    #[error("no living tenant of that name")]
    Unknown,
}
