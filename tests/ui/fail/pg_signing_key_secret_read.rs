//! The secret of a signing key is not read.

use tenancy_pg::SigningKey;

fn read(key: &SigningKey) {
    let _secret = key.secret();
}

fn main() {
    let _ = read;
}
