//! The twin of `fail/tools_handle_by_literal.rs`: one line differs.

use tenancy_tools::TenantTools;

fn forge(other: TenantTools) -> TenantTools {
    other
}

fn main() {
    let _ = forge;
}
