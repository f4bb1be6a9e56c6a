//! The twin of `fail/cache_tool_parts_without_scope.rs`: one line differs.

use tenancy_cache::{CanonicalJson, ToolParts};
use tenancy_core::Visibility;

fn parts(name: String, version: String, scope: Vec<u8>, arguments: CanonicalJson, visibility: Visibility) -> ToolParts {
    let _ = &scope;
    ToolParts { name, version, scope, arguments, visibility }
}

fn main() {
    let _ = parts;
}
