//! The twin of `fail/core_audit_batch_by_literal.rs`: one line differs.

use tenancy_core::AuditBatch;

fn forge(other: AuditBatch<'_>) -> AuditBatch<'_> {
    other
}

fn main() {
    let _ = forge;
}
