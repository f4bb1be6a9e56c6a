//! The twin of `fail/core_ticket_for_another_kind.rs`: one line differs.

use tenancy_core::{Denial, Job, JobKind, JobTicket, Worker};

async fn work<K: JobKind, L: JobKind>(
    worker: &Worker,
    theirs: &JobTicket<L>,
    ours: &JobTicket<K>,
) -> Result<Job<K>, Denial> {
    let _ = (theirs, ours);
    worker.open::<K>(ours, Vec::new()).await
}

fn main() {}
