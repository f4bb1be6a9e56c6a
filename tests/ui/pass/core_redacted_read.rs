//! The twin of `fail/core_redacted_read.rs`: one line differs.

use tenancy_core::Redacted;

fn text(error: &Redacted<String>) -> String {
    error.to_string()
}

fn main() {
    let _ = text;
}
