//! Records are not written past the chains.

use tenancy_core::AuditBatch;

fn forge(other: AuditBatch<'_>) -> AuditBatch<'_> {
    AuditBatch { ..other }
}

fn main() {
    let _ = forge;
}
