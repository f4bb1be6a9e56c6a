//! A tenant's tools are not built as a struct literal.

use tenancy_tools::TenantTools;

fn forge(other: TenantTools) -> TenantTools {
    TenantTools { ..other }
}

fn main() {
    let _ = forge;
}
