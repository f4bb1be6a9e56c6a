//! A job ticket is no credential at the edge.

use tenancy_core::{Credential, JobKind, JobTicket, Realm};

async fn edge<K: JobKind>(realm: &Realm, ticket: &JobTicket<K>, credential: &Credential) {
    let _ = (ticket, credential);
    let _context = realm.authenticate(ticket).await;
}

fn main() {}
