//! The twin of `fail/core_authorized_by_literal.rs`: one line differs.

use tenancy_core::Authorized;
use tenancy_core::permission::Ingest;

fn forge(other: Authorized<Ingest>) -> Authorized<Ingest> {
    other
}

fn main() {
    let _ = forge;
}
