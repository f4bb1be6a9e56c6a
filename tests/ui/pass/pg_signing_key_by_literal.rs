//! The twin of `fail/pg_signing_key_by_literal.rs`: one line differs.

use tenancy_pg::SigningKey;

fn with_another_id(key: SigningKey, other: &SigningKey) -> SigningKey {
    let _other = other;
    key
}

fn main() {
    let _ = with_another_id;
}
