//! The scope a tool is called with does not outlive the call.

use std::sync::Mutex;

use tenancy_tools::ToolScope;

static KEPT: Mutex<Vec<&ToolScope<'static>>> = Mutex::new(Vec::new());
static TENANTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn call(scope: &ToolScope<'static>) {
    KEPT.lock().map(|mut kept| kept.push(scope)).ok();
}

fn main() {
    let _ = (call, &KEPT, &TENANTS);
}
