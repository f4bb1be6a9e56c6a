//! A raw pool is not taken out of the job queue.

use tenancy_pg::Queue;

fn raw(queue: &Queue) {
    let _raw = &queue.shared;
}

fn main() {
    let _ = raw;
}
