//! A registry that is closed takes no more tools.

use tenancy_tools::{Tool, ToolRegistry};

type State = tenancy_tools::Closed;

fn register<T: Tool>(registry: &mut ToolRegistry<State>, tool: T) -> bool {
    registry.register(tool).is_ok()
}

fn main() {}
