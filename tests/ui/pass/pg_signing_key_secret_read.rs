//! The twin of `fail/pg_signing_key_secret_read.rs`: one line differs.

use tenancy_pg::SigningKey;

fn read(key: &SigningKey) {
    let _secret = key.expose();
}

fn main() {
    let _ = read;
}
