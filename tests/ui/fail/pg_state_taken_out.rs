//! What an inspected database shares is not taken out of it.

use tenancy_pg::Database;

fn raw(database: &Database<tenancy_pg::Inspected>) {
    let _raw = &database.state;
}

fn main() {
    let _ = raw;
}
