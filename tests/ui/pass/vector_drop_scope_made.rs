//! The twin of `fail/vector_drop_scope_made.rs`: one line differs.

use tenancy_vector::{DropScope, WriteScope};

fn forge<'a>(write: WriteScope<'a>, gone: DropScope<'a>) -> DropScope<'a> {
    let _ = (write.life(), gone.life());
    gone
}

fn main() {
    let _ = forge;
}
