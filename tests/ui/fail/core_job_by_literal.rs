//! A job, which holds a context, is not built as a struct literal.

use tenancy_core::{Job, JobKind};

fn forge<K: JobKind>(other: Job<K>) -> Job<K> {
    Job { ..other }
}

fn main() {}
