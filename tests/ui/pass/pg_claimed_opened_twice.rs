//! The twin of `fail/pg_claimed_opened_twice.rs`: one line differs.

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

async fn open(claimed: Claimed<Ingest>, worker: &Worker) {
    let _first = claimed.open(worker).await;
    let _second = worker;
}

fn main() {
    let _ = open;
}
