//! The twin of `fail/pg_queue_pool_taken_out.rs`: one line differs.

use tenancy_pg::Queue;

fn raw(queue: &Queue) {
    let _raw = &queue;
}

fn main() {
    let _ = raw;
}
