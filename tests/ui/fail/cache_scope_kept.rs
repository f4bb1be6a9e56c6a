//! The scope a cache back end is called with does not outlive the call.

use std::sync::Mutex;

use tenancy_cache::CacheScope;

static KEPT: Mutex<Vec<&CacheScope<'static>>> = Mutex::new(Vec::new());
static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn get(scope: &CacheScope<'static>) {
    KEPT.lock().map(|mut kept| kept.push(scope)).ok();
}

fn main() {
    let _ = (get, &KEPT, &NAMES);
}
