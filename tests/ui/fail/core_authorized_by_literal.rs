//! A permission is not built as a struct literal.

use tenancy_core::Authorized;
use tenancy_core::permission::Ingest;

fn forge(other: Authorized<Ingest>) -> Authorized<Ingest> {
    Authorized { ..other }
}

fn main() {
    let _ = forge;
}
