//! The twin of `fail/tools_unscoped_offer.rs`: one line differs.

type Handle = tenancy_tools::TenantTools;

fn offer(handle: &Handle) -> usize {
    handle.specs().len()
}

fn main() {
    let _ = offer;
}
