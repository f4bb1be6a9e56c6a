//! The twin of `fail/pg_seal_made.rs`: one line differs.

use tenancy_pg::SigningKeys;

fn seal(_keys: &SigningKeys) {
    let _method = SigningKeys::sign_with;
}

fn main() {
    let _ = seal;
}
