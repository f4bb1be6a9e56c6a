//! A realm is not built without saying whose tokens count.

use tenancy_core::{RealmBuilder, WantsIssuers, WantsKeys};

fn build(builder: RealmBuilder<WantsIssuers>) -> RealmBuilder<WantsKeys> {
    builder.no_operators()
}

fn main() {
    let _ = build;
}
