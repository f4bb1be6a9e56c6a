//! The twin of `fail/pg_signing_key_from_bytes.rs`: one line differs.

use tenancy_pg::SigningKey;

fn make(bytes: [u8; 32]) -> SigningKey {
    let _bytes = bytes;
    SigningKey::generate()
}

fn main() {
    let _ = make;
}
