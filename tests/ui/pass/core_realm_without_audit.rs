//! The twin of `fail/core_realm_without_audit.rs`: one line differs.

use tenancy_core::{ConfigError, MemorySink, Realm, RealmBuilder, WantsAudit};

async fn build(builder: RealmBuilder<WantsAudit>, sink: MemorySink) -> Result<Realm, ConfigError> {
    let _ = &sink;
    builder.audit(sink).build().await
}

fn main() {
    let _ = build;
}
