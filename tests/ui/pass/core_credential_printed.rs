//! The twin of `fail/core_credential_printed.rs`: one line differs.

use tenancy_core::Credential;

fn log(credential: &Credential) -> String {
    format!("{credential:?}")
}

fn main() {
    let _ = log;
}
