//! The twin of `fail/pg_pool_taken_out.rs`: one line differs.

use tenancy_pg::{Database, Inspected};

fn raw(database: &Database<Inspected>) {
    let _database: &Database<Inspected> = database;
}

fn main() {
    let _ = raw;
}
