//! A realm is not built without a place for its records.

use tenancy_core::{ConfigError, MemorySink, Realm, RealmBuilder, WantsAudit};

async fn build(builder: RealmBuilder<WantsAudit>, sink: MemorySink) -> Result<Realm, ConfigError> {
    let _ = &sink;
    builder.build().await
}

fn main() {
    let _ = build;
}
