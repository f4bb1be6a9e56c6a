//! The twin of `fail/core_entry_copied.rs`: one line differs.

use tenancy_core::Entered;

fn copy(entered: Entered<'_>) -> Entered<'_> {
    entered
}

fn main() {
    let _ = copy;
}
