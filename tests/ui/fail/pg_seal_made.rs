//! Nobody but a scope seals a transaction.

use tenancy_pg::SigningKeys;

fn seal(_keys: &SigningKeys) {
    let _method = SigningKeys::seal;
}

fn main() {
    let _ = seal;
}
