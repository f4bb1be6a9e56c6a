//! The twin of `fail/pg_state_taken_out.rs`: one line differs.

use tenancy_pg::Database;

fn raw(database: &Database<tenancy_pg::Inspected>) {
    let _database = database;
}

fn main() {
    let _ = raw;
}
