//! The twin of `fail/vector_drop_scope_made.rs`: one line differs.

use tenancy_vector::{DropScope, VectorScope};

fn forge<'a>(read: VectorScope<'a>, gone: DropScope<'a>) -> DropScope<'a> {
    let _ = (read.life(), gone.life());
    gone
}

fn main() {
    let _ = forge;
}
