//! The twin of `fail/cache_scope_kept.rs`: one line differs.

use std::sync::Mutex;

use tenancy_cache::CacheScope;

static KEPT: Mutex<Vec<&CacheScope<'static>>> = Mutex::new(Vec::new());
static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn get(scope: &CacheScope<'static>) {
    NAMES.lock().map(|mut names| names.push(scope.tag().to_owned())).ok();
}

fn main() {
    let _ = (get, &KEPT, &NAMES);
}
