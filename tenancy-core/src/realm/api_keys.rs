//! Issuing API keys.

use std::time::SystemTime;

use super::Realm;
use crate::credential::{IssuedApiKey, issue_api_key};
use crate::denial::Denial;
use crate::directory::TenantRecord;
use crate::id::SubjectId;
use crate::permission::{Authorized, ManageKeys};
use crate::purpose::RealmPurpose;

impl Realm {
    /// Issues an API key for the tenant of the proof. Its secret is shown once; store the record in the directory.
    ///
    /// Roles are mapped under the issuer [`TenantRecord::API_KEYS`]. A role that carries more than the holder of the
    /// proof may do is refused, and so is one that is not mapped: somebody may map it later, and the key would be more
    /// than whoever made it.
    ///
    /// # Errors
    /// [`Denial::ForeignRealm`], [`Denial::PermissionMissing`], or as
    /// [`TenantContext::ensure`](crate::TenantContext::ensure); all recorded.
    pub fn issue_api_key(
        &self,
        proof: &Authorized<ManageKeys>,
        subject: SubjectId,
        roles: &[&str],
        expires: Option<SystemTime>,
    ) -> Result<IssuedApiKey, Denial> {
        let context = proof.context();
        let shared = self.shared();
        if context.realm() != shared.tag {
            return Err(shared.deny_anonymous("api_key.issue", None, Denial::ForeignRealm));
        }
        proof.check().map_err(|denial| context.deny("api_key.issue", denial))?;
        let held = &context.inner().permissions;
        let within = |role: &&str| {
            let mut carries = context.record().permissions(TenantRecord::API_KEYS, role).peekable();
            carries.peek().is_some() && carries.all(|name| held.holds(name))
        };
        if !roles.iter().all(within) {
            return Err(context.deny("api_key.issue", Denial::PermissionMissing));
        }
        let roles = roles.iter().map(|role| (*role).to_owned()).collect();
        let pepper = shared.keys.get(RealmPurpose::ApiKey);
        let event = context.event("api_key.issue", crate::audit::Outcome::Done, None, None);
        context.record_event(event);
        Ok(issue_api_key(pepper, context.life(), subject, roles, shared.clock.now(), expires))
    }
}
