//! The twin of `fail/tools_files_by_literal.rs`: one line differs.

use tenancy_tools::TenantFiles;

fn forge(other: TenantFiles) -> TenantFiles {
    other
}

fn main() {
    let _ = forge;
}
