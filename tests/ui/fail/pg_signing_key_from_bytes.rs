//! A signing key is not made from bytes.

use tenancy_pg::SigningKey;

fn make(bytes: [u8; 32]) -> SigningKey {
    let _bytes = bytes;
    bytes.into()
}

fn main() {
    let _ = make;
}
