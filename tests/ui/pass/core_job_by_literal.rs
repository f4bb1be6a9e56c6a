//! The twin of `fail/core_job_by_literal.rs`: one line differs.

use tenancy_core::{Job, JobKind};

fn forge<K: JobKind>(other: Job<K>) -> Job<K> {
    other
}

fn main() {}
