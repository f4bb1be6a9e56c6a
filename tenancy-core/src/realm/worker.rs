//! The workers' door: the only way from a job ticket to a context.

use std::sync::Arc;

use super::RealmShared;
use crate::audit::Lane;
use crate::clock::unix_seconds;
use crate::context::TenantContext;
use crate::denial::{CredentialFault, Denial, TicketFault};
use crate::directory::Lookup;
use crate::fence::{self, Asked};
use crate::permission::PermissionSet;
use crate::ticket::{Job, JobKind, JobTicket, Redeemed, Redemption, VerifiedTicket};

/// Opens job tickets. See [`Realm::worker`](crate::Realm::worker).
#[derive(Clone, Debug)]
pub struct Worker {
    realm: Arc<RealmShared>,
}

impl Worker {
    pub(super) const fn new(realm: Arc<RealmShared>) -> Self {
        Self { realm }
    }

    /// Verifies a ticket against the payload it came with, and the tenant against the directory as it is now.
    ///
    /// The ledger is asked last, when everything else is in order, so that a wrong payload does not use a ticket up.
    /// Dropped before it answers: a `cancelled` record; a ticket for single use may count as used.
    ///
    /// # Errors
    /// [`Denial::Ticket`] with the fault, [`Denial::TenantSuspended`], [`Denial::TenantErased`],
    /// [`Denial::DirectoryUnavailable`], and as [`Realm::context`](crate::Realm::context). All recorded.
    pub async fn open<K: JobKind>(&self, ticket: &JobTicket<K>, payload: Vec<u8>) -> Result<Job<K>, Denial> {
        let mut check = self.realm.begin(Lane::Anonymous, "job.open").await?;
        match self.opened(ticket, &payload).await {
            Ok(context) => {
                check.waive();
                Ok(Job::new(context, payload))
            }
            Err(denial) => {
                // A seal that did not open says nothing about whose ticket it is: anybody can write a life into one.
                let unsealed = !matches!(denial, Denial::Ticket(TicketFault::Altered | TicketFault::ForeignRealm));
                if let Some(life) = ticket.claimed_life().filter(|_| unsealed) {
                    check.about(life);
                }
                Err(check.deny(denial))
            }
        }
    }

    async fn opened<K: JobKind>(&self, ticket: &JobTicket<K>, payload: &[u8]) -> Result<TenantContext, Denial> {
        let realm = &self.realm;
        let VerifiedTicket { id, life, who, ceiling, once, issued, expires } = ticket.verify(realm, payload)?;
        let asked = Asked::now(&*realm.clock);
        let found = fence::find(&*realm.directory, realm.settings.patience, Lookup::life(life)).await?;
        let record = found.ok_or(Denial::TenantErased)?;
        if unix_seconds(issued) < unix_seconds(record.born()) {
            return Err(CredentialFault::BeforeLife.into());
        }
        // What the roles carry now, and never more than the enqueuer had.
        let now = who.roles.iter().flat_map(|role| record.permissions(&who.issuer, role)).cloned();
        let permissions = now.collect::<PermissionSet>().within(&ceiling);
        let context = realm.admit(record, who, permissions, asked, expires, Some(expires)).await?;
        if once {
            let ledger = realm.ledger.as_ref().ok_or(TicketFault::LedgerUnavailable)?;
            let redeemed = ledger.redeem(Redemption::new(&id, expires));
            let redeemed = tokio::time::timeout(realm.settings.patience, redeemed).await;
            let redeemed = redeemed.map_err(|_| TicketFault::LedgerUnavailable)?;
            match redeemed.map_err(|_| TicketFault::LedgerUnavailable)? {
                Redeemed::First => {}
                Redeemed::Again => return Err(TicketFault::Replayed.into()),
            }
        }
        Ok(context)
    }
}
