//! A tool's result is not kept without saying what the tool could reach.

use tenancy_cache::{CanonicalJson, ToolParts};
use tenancy_core::{Corpus, Visibility};

fn parts(name: String, version: String, scope: Vec<u8>, arguments: CanonicalJson, corpora: Vec<Corpus>, visibility: Visibility) -> ToolParts {
    let _ = &scope;
    ToolParts { name, version, arguments, corpora, visibility }
}

fn main() {
    let _ = parts;
}
