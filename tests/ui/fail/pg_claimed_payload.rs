//! A claimed job has no payload before its ticket is verified.

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
    let _ = (claimed.payload(), worker);
}

fn main() {
    let _ = read;
}
