//! The scope a store of corpus versions is called with does not outlive the call.

use std::sync::Mutex;

use tenancy_core::CorpusScope;

static KEPT: Mutex<Vec<CorpusScope<'static>>> = Mutex::new(Vec::new());
static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn current(scope: CorpusScope<'_>) {
    KEPT.lock().map(|mut kept| kept.push(scope)).ok();
}

fn main() {
    let _ = (current, &KEPT, &NAMES);
}
