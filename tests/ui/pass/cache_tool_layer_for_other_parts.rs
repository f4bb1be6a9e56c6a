//! The twin of `fail/cache_tool_layer_for_other_parts.rs`: one line differs.

use tenancy_cache::{ResponseParts, TenantCaches, ToolParts};

async fn f(mine: TenantCaches, tool: ToolParts, response: ResponseParts) {
    let _ = mine.tool::<String>().lookup(&tool).await;
    let _ = (tool, response);
}

fn main() {
    let _ = f;
}
