//! Tools are not run from a registry that can still change.

use tenancy_core::Realm;
use tenancy_tools::{FilesRoot, Open, ToolRegistry, Tools};

fn tools(realm: &Realm, registry: ToolRegistry<Open>, files: FilesRoot) -> Tools {
    Tools::new(realm, registry, files)
}

fn main() {
    let _ = tools;
}
