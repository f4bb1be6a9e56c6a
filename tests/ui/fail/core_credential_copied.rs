//! A credential is not copied.

use tenancy_core::Credential;

fn keep(credential: Credential) -> Credential {
    credential.clone()
}

fn main() {
    let _ = keep;
}
