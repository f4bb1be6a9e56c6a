//! The layer of tools takes the parts of a tool.

use tenancy_cache::{ResponseParts, TenantCaches, ToolParts};

async fn f(mine: TenantCaches, tool: ToolParts, response: ResponseParts) {
    let _ = mine.tool::<String>().lookup(&response).await;
    let _ = (tool, response);
}

fn main() {
    let _ = f;
}
