//! The twin of `fail/core_authorized_for_another_action.rs`: one line differs.

use tenancy_core::permission::{Ingest, PublishAdapter};
use tenancy_core::{Authorized, TenantContext};

fn publish(_proof: &Authorized<PublishAdapter>) {}

fn serve(context: &TenantContext) {
    let _both = (context.authorize::<Ingest>(), context.authorize::<PublishAdapter>());
    if let Ok(proof) = context.authorize::<PublishAdapter>() {
        publish(&proof);
    }
}

fn main() {
    let _ = serve;
}
