//! The twin of `fail/core_credential_copied.rs`: one line differs.

use tenancy_core::Credential;

fn keep(credential: Credential) -> Credential {
    credential
}

fn main() {
    let _ = keep;
}
