//! The twin of `fail/tools_closed_registry_changed.rs`: one line differs.

use tenancy_tools::{Tool, ToolRegistry};

type State = tenancy_tools::Open;

fn register<T: Tool>(registry: &mut ToolRegistry<State>, tool: T) -> bool {
    registry.register(tool).is_ok()
}

fn main() {}
