//! The twin of `fail/tools_scope_kept.rs`: one line differs.

use std::sync::Mutex;

use tenancy_tools::ToolScope;

static KEPT: Mutex<Vec<&ToolScope<'static>>> = Mutex::new(Vec::new());
static TENANTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn call(scope: &ToolScope<'static>) {
    TENANTS.lock().map(|mut names| names.push(scope.context().tenant().as_str().to_owned())).ok();
}

fn main() {
    let _ = (call, &KEPT, &TENANTS);
}
