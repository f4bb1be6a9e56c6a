//! The twin of `fail/pg_claimed_payload.rs`: one line differs.

use std::time::Duration;

use tenancy_core::{JobKind, TicketUse, Worker};
use tenancy_pg::Claimed;

struct Ingest;

impl JobKind for Ingest {
    const NAME: &'static str = "ingest";
    const QUEUE: &'static str = "default";
    const MAX_TTL: Duration = Duration::from_secs(60);
    const USE: TicketUse = TicketUse::Repeatable;
}

async fn read(claimed: Claimed<Ingest>, worker: &Worker) {
    let _ = (claimed.open(worker).await.unwrap().payload(), worker);
}

fn main() {
    let _ = read;
}
