//! The twin of `fail/core_corpus_scope_kept.rs`: one line differs.

use std::sync::Mutex;

use tenancy_core::CorpusScope;

static KEPT: Mutex<Vec<CorpusScope<'static>>> = Mutex::new(Vec::new());
static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn current(scope: CorpusScope<'_>) {
    NAMES.lock().map(|mut names| names.push(scope.name())).ok();
}

fn main() {
    let _ = (current, &KEPT, &NAMES);
}
