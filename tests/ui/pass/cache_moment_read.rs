//! The twin of `fail/cache_moment_read.rs`: one line differs.

use tenancy_cache::Moment;

fn raw(moment: &Moment) {
    let _moment = moment;
}

fn main() {
    let _ = raw;
}
