//! The twin of `fail/tools_open_registry.rs`: one line differs.

use tenancy_core::Realm;
use tenancy_tools::{FilesRoot, Open, ToolRegistry, Tools};

fn tools(realm: &Realm, registry: ToolRegistry<Open>, files: FilesRoot) -> Tools {
    Tools::new(realm, registry.close(), files)
}

fn main() {
    let _ = tools;
}
