//! A credential has no text to print.

use tenancy_core::Credential;

fn log(credential: &Credential) -> String {
    format!("{credential}")
}

fn main() {
    let _ = log;
}
