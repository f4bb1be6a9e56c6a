//! The twin of `fail/cache_tool_parts_without_scope.rs`: one line differs.

use tenancy_cache::{CanonicalJson, ToolParts};
use tenancy_core::{Corpus, Visibility};

fn parts(name: String, version: String, scope: Vec<u8>, arguments: CanonicalJson, corpora: Vec<Corpus>, visibility: Visibility) -> ToolParts {
    let _ = &scope;
    ToolParts { name, version, scope, arguments, corpora, visibility }
}

fn main() {
    let _ = parts;
}
