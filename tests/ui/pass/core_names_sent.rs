//! The twin of `fail/core_names_sent.rs`: one line differs.

use tenancy_core::purpose::PointId;
use tenancy_core::{Names, TenantContext};

fn sent<T: Send>(_: T) {}

fn keep(names: Names<'_, PointId>, context: &TenantContext) {
    let _ = format!("{names:?}");
    sent(context);
}

fn main() {
    let _ = keep;
}
