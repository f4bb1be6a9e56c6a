//! The twin of `fail/cache_moment_by_literal.rs`: one line differs.

use tenancy_cache::Moment;

fn forge(other: Moment) -> Moment {
    other
}

fn main() {
    let _ = forge;
}
