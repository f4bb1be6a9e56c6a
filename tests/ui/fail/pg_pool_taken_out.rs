//! A raw pool is not reached through a database.

use tenancy_pg::{Database, Inspected};

fn raw(database: &Database<Inspected>) {
    let _pool: &sqlx::PgPool = database;
}

fn main() {
    let _ = raw;
}
