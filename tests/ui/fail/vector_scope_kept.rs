//! The scope a vector back end is called with does not outlive the call.

use std::sync::Mutex;

use tenancy_vector::VectorScope;

static KEPT: Mutex<Vec<VectorScope<'static>>> = Mutex::new(Vec::new());
static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn count(scope: VectorScope<'_>) {
    KEPT.lock().map(|mut kept| kept.push(scope)).ok();
}

fn main() {
    let _ = (count, &KEPT, &NAMES);
}
