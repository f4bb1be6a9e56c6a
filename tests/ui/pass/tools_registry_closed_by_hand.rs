//! The twin of `fail/tools_registry_closed_by_hand.rs`: one line differs.

use tenancy_tools::{Closed, ToolRegistry};

fn forge(other: ToolRegistry<Closed>) -> ToolRegistry<Closed> {
    other
}

fn main() {
    let _ = forge;
}
