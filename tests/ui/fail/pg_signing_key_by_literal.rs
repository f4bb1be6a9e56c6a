//! A signing key is not built as a struct literal.

use tenancy_pg::SigningKey;

fn with_another_id(key: SigningKey, other: &SigningKey) -> SigningKey {
    let _other = other;
    SigningKey { id: *other.id(), ..key }
}

fn main() {
    let _ = with_another_id;
}
