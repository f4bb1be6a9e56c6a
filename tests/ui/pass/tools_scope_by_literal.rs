//! The twin of `fail/tools_scope_by_literal.rs`: one line differs.

use tenancy_tools::ToolScope;

fn forge(other: ToolScope<'_>) -> ToolScope<'_> {
    other
}

fn main() {
    let _ = forge;
}
