//! What derives names for one batch is not kept by spawned work.

use tenancy_core::purpose::PointId;
use tenancy_core::{Names, TenantContext};

fn sent<T: Send>(_: T) {}

fn keep(names: Names<'_, PointId>, context: &TenantContext) {
    let _ = format!("{names:?}");
    sent(names);
}

fn main() {
    let _ = keep;
}
