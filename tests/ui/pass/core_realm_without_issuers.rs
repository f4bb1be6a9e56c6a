//! The twin of `fail/core_realm_without_issuers.rs`: one line differs.

use tenancy_core::{RealmBuilder, WantsIssuers, WantsKeys};

fn build(builder: RealmBuilder<WantsIssuers>) -> RealmBuilder<WantsKeys> {
    builder.issuers([]).no_operators()
}

fn main() {
    let _ = build;
}
