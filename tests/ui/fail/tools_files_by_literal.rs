//! A tenant's files are not built as a struct literal.

use tenancy_tools::TenantFiles;

fn forge(other: TenantFiles) -> TenantFiles {
    TenantFiles { ..other }
}

fn main() {
    let _ = forge;
}
