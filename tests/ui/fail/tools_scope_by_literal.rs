//! A tool is called by the executor alone: its scope is not built elsewhere.

use tenancy_tools::ToolScope;

fn forge(other: ToolScope<'_>) -> ToolScope<'_> {
    ToolScope { ..other }
}

fn main() {
    let _ = forge;
}
