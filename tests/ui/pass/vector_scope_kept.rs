//! The twin of `fail/vector_scope_kept.rs`: one line differs.

use std::sync::Mutex;

use tenancy_vector::VectorScope;

static KEPT: Mutex<Vec<VectorScope<'static>>> = Mutex::new(Vec::new());
static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn count(scope: VectorScope<'_>) {
    NAMES.lock().map(|mut names| names.push(scope.partition().to_owned())).ok();
}

fn main() {
    let _ = (count, &KEPT, &NAMES);
}
