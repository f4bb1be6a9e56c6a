//! The twin of `fail/pg_pass_by_the_trait.rs`: one line differs.

use tenancy_pg::Scoped;

fn raw<S: Scoped>(mine: &S) {
    let _handle = mine;
}

fn main() {}
