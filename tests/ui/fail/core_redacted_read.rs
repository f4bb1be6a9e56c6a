//! A driver's withheld error is not read without saying why.

use tenancy_core::Redacted;

fn text(error: &Redacted<String>) -> String {
    error.expose().clone()
}

fn main() {
    let _ = text;
}
