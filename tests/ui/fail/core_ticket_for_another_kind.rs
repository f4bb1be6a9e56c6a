//! A ticket for one kind of job is not one for another.

use tenancy_core::{Denial, Job, JobKind, JobTicket, Worker};

async fn work<K: JobKind, L: JobKind>(
    worker: &Worker,
    theirs: &JobTicket<L>,
    ours: &JobTicket<K>,
) -> Result<Job<K>, Denial> {
    let _ = (theirs, ours);
    worker.open::<K>(theirs, Vec::new()).await
}

fn main() {}
