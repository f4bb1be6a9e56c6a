//! An entry is not copied.

use tenancy_core::Entered;

fn copy(entered: Entered<'_>) -> Entered<'_> {
    entered.clone()
}

fn main() {
    let _ = copy;
}
