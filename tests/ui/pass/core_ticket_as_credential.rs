//! The twin of `fail/core_ticket_as_credential.rs`: one line differs.

use tenancy_core::{Credential, JobKind, JobTicket, Realm};

async fn edge<K: JobKind>(realm: &Realm, ticket: &JobTicket<K>, credential: &Credential) {
    let _ = (ticket, credential);
    let _context = realm.authenticate(credential).await;
}

fn main() {}
