//! A tool's result is not kept without saying what the tool could reach.

use tenancy_cache::{CanonicalJson, ToolParts};
use tenancy_core::Visibility;

fn parts(name: String, version: String, scope: Vec<u8>, arguments: CanonicalJson, visibility: Visibility) -> ToolParts {
    let _ = &scope;
    ToolParts { name, version, arguments, visibility }
}

fn main() {
    let _ = parts;
}
