//! From a credential to a context, in one step or two.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use super::{Realm, RealmShared, RealmTag};
use crate::audit::Lane;
use crate::clock::unix_seconds;
use crate::context::{Inner, TenantContext, Who};
use crate::credential::{Credential, CredentialKind, check_api_key, parse_api_key, verify_tenant_token};
use crate::denial::{CredentialFault, Denial};
use crate::directory::{ApiKeyLookup, Lookup, TenantRecord};
use crate::fence::{self, Asked, standing_allows};
use crate::id::{Life, RequestId, SubjectId};
use crate::permission::PermissionSet;
use crate::purpose::RealmPurpose;

/// A credential that was verified, and not yet a tenant: which of its memberships is meant comes next, see
/// [`Realm::context`].
pub struct Verified {
    realm: RealmTag,
    proof: Proof,
    subject: SubjectId,
    actor: Option<SubjectId>,
    roles: Vec<String>,
    issued: SystemTime,
    expires: SystemTime,
}

enum Proof {
    /// An issuer vouches for these claims.
    Claims { issuer: Arc<str>, memberships: Vec<String> },
    /// An API key's row names the life.
    ApiKey { life: Life },
}

/// Which verified membership is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selection<'a> {
    /// The only one there is.
    Only,
    /// The one with this claim, compared by bytes with the verified ones. A name that a client sends may be used here:
    /// it can pick among what was verified and nothing else.
    Membership(&'a str),
}

impl Verified {
    /// The subject.
    #[must_use]
    pub const fn subject(&self) -> &SubjectId {
        &self.subject
    }

    /// The verified membership claims to choose from; empty for an API key, which belongs to one tenant.
    #[must_use]
    pub fn memberships(&self) -> &[String] {
        match &self.proof {
            Proof::Claims { memberships, .. } => memberships,
            Proof::ApiKey { .. } => &[],
        }
    }
}

impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verified({:?})", self.subject)
    }
}

impl Realm {
    /// Verifies a credential and makes the context of its only membership.
    ///
    /// # Errors
    /// As [`verify`](Self::verify) and [`context`](Self::context).
    pub async fn authenticate(&self, credential: &Credential) -> Result<TenantContext, Denial> {
        let verified = self.verify(credential).await?;
        self.context(verified, Selection::Only).await
    }

    /// Verifies a credential: signature, issuer, audience, times, subject; or the secret of an API key.
    ///
    /// Dropped before it answers: a `cancelled` record.
    ///
    /// # Errors
    /// [`Denial::Credential`] with the fault, recorded among the anonymous; [`Denial::AuditUnavailable`] when there is
    /// no place for a record.
    pub async fn verify(&self, credential: &Credential) -> Result<Verified, Denial> {
        let check = self.shared().begin(Lane::Anonymous, "authenticate").await?;
        match self.shared().verified(credential).await {
            Ok(verified) => {
                check.waive();
                Ok(verified)
            }
            Err(denial) => Err(check.deny(denial)),
        }
    }

    /// Makes the context of one verified membership.
    ///
    /// Dropped before it answers: a `cancelled` record, and no context.
    ///
    /// # Errors
    /// [`Denial::NotAMember`] when the selection is not among the memberships, [`Denial::TenantUnknown`],
    /// [`Denial::TenantSuspended`], [`Denial::TenantErased`], [`CredentialFault::BeforeLife`] for a credential issued
    /// before the tenant's life began, [`Denial::DirectoryUnavailable`], [`Denial::KeyUnavailable`],
    /// [`Denial::KeyDestroyed`]. All recorded, in the tenant's chain once it is known.
    pub async fn context(&self, verified: Verified, selection: Selection<'_>) -> Result<TenantContext, Denial> {
        let mut check = self.shared().begin(Lane::Anonymous, "authenticate").await?;
        check.by(&verified.subject, verified.actor.as_ref());
        let mut life = None;
        let made = self.shared().context(verified, selection, &mut life).await;
        if let Some(life) = life {
            check.about(life);
        }
        match made {
            Ok(context) => {
                check.waive();
                Ok(context)
            }
            Err(denial) => Err(check.deny(denial)),
        }
    }
}

impl RealmShared {
    async fn verified(self: &Arc<Self>, credential: &Credential) -> Result<Verified, Denial> {
        match credential.kind() {
            CredentialKind::Bearer(token) => {
                let token = verify_tenant_token(&self.issuers, token, &*self.clock).await?;
                Ok(Verified {
                    realm: self.tag,
                    proof: Proof::Claims { issuer: token.issuer, memberships: token.memberships },
                    subject: token.subject,
                    actor: token.actor,
                    roles: token.roles,
                    issued: token.issued,
                    expires: token.expires,
                })
            }
            CredentialKind::ApiKey(key) => {
                let presented = parse_api_key(key)?;
                let lookup = ApiKeyLookup::new(presented.id());
                let found = tokio::time::timeout(self.settings.patience, self.directory.api_key(lookup)).await;
                let found = found
                    .map_err(|_| Denial::DirectoryUnavailable)?
                    .map_err(|_| Denial::DirectoryUnavailable)?
                    // A directory that answers with another key's row is not believed.
                    .filter(|record| record.id() == presented.id());
                let now = self.clock.now();
                check_api_key(self.keys.get(RealmPurpose::ApiKey), &presented, found.as_ref(), now)?;
                // The check passes only for a key that was found.
                let record = found.ok_or(CredentialFault::ApiKey)?;
                Ok(Verified {
                    realm: self.tag,
                    proof: Proof::ApiKey { life: record.life() },
                    subject: record.subject().clone(),
                    actor: None,
                    roles: record.roles().to_vec(),
                    issued: record.created(),
                    expires: record.expires().unwrap_or(now + self.settings.max_request),
                })
            }
        }
    }

    async fn context(
        self: &Arc<Self>,
        verified: Verified,
        selection: Selection<'_>,
        life: &mut Option<Life>,
    ) -> Result<TenantContext, Denial> {
        if verified.realm != self.tag {
            return Err(Denial::ForeignRealm);
        }
        let asked = Asked::now(&*self.clock);
        let (lookup, issuer) = match &verified.proof {
            Proof::Claims { issuer, memberships } => {
                (Lookup::claim(issuer, select(memberships, selection)?), Arc::clone(issuer))
            }
            Proof::ApiKey { life } if selection == Selection::Only => {
                (Lookup::life(*life), Arc::from(TenantRecord::API_KEYS))
            }
            Proof::ApiKey { .. } => return Err(Denial::NotAMember),
        };
        let found = fence::find(&*self.directory, self.settings.patience, lookup).await?;
        let record = found.ok_or(Denial::TenantUnknown)?;
        *life = Some(record.life());
        // Tokens tell time in seconds, by a clock that may be ahead: whoever might have been issued before the life began
        // is refused. A new life's first tokens wait out the leeway.
        if unix_seconds(verified.issued) < unix_seconds(record.born()) {
            return Err(CredentialFault::BeforeLife.into());
        }
        let permissions = verified
            .roles
            .iter()
            .flat_map(|role| record.permissions(&issuer, role))
            .cloned()
            .collect::<PermissionSet>();
        let mut roles: Vec<Arc<str>> = verified.roles.iter().map(|role| Arc::from(role.as_str())).collect();
        roles.sort_unstable();
        roles.dedup();
        let who = Who { issuer, subject: verified.subject, actor: verified.actor, roles: roles.into() };
        self.admit(record, who, permissions, asked, verified.expires, None).await
    }

    /// The last steps on every way to a context: standing, row key, keys, fence, deadline.
    pub(super) async fn admit(
        self: &Arc<Self>,
        record: TenantRecord,
        who: Who,
        permissions: PermissionSet,
        asked: Asked,
        expires: SystemTime,
        ticket_expiry: Option<SystemTime>,
    ) -> Result<TenantContext, Denial> {
        standing_allows(record.standing())?;
        self.claim_row_key(record.row_key(), record.life())?;
        let left = expires.duration_since(self.clock.now()).unwrap_or(Duration::ZERO);
        let limit = if ticket_expiry.is_some() { self.settings.max_ticket } else { self.settings.max_request };
        let deadline = self.clock.monotonic() + left.min(limit);
        let keys = tokio::time::timeout(self.settings.patience, self.keyring.life(record.life())).await;
        let keys = keys.map_err(|_| Denial::KeyUnavailable)??;
        let fence = self.fence.slot(record.life(), record.standing(), asked);
        let context = TenantContext::new(Inner {
            realm: Arc::clone(self),
            record: Arc::new(record),
            who,
            permissions,
            deadline,
            ticket_expiry,
            request: RequestId::random(),
            keys,
            fence,
            accessed: Mutex::default(),
        });
        context.ensure()?;
        Ok(context)
    }
}

/// The membership that is meant: the only one, or one that was verified. Never a guess among several.
fn select<'v>(memberships: &'v [String], selection: Selection<'_>) -> Result<&'v str, Denial> {
    match (selection, memberships) {
        (Selection::Only, [only]) => Ok(only),
        (Selection::Only, _) => Err(Denial::NotAMember),
        (Selection::Membership(wanted), all) => {
            all.iter().find(|m| m.as_str() == wanted).map(String::as_str).ok_or(Denial::NotAMember)
        }
    }
}
