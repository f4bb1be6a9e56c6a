//! The twin of `fail/tools_arguments_are_a_context.rs`: one line differs.

use tenancy_tools::{Effect, Tool, ToolError, ToolOutput, ToolScope};

type Supplied = tenancy_tools::NoArguments;

struct Mine;

impl Tool for Mine {
    type Args = Supplied;
    const NAME: &'static str = "mine";
    const VERSION: &'static str = "1";
    const DESCRIPTION: &'static str = "Answers";
    const EFFECT: Effect = Effect::ReadOnly;

    async fn call(&self, _: &ToolScope<'_>, _: Supplied) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("done"))
    }
}

fn main() {
    let _ = Mine;
}
