//! The twin of `fail/vector_write_scope_made.rs`: one line differs.

use tenancy_vector::{VectorScope, WriteScope};

fn forge<'a>(read: VectorScope<'a>, write: WriteScope<'a>) -> WriteScope<'a> {
    let _ = (read.life(), write.life());
    write
}

fn main() {
    let _ = forge;
}
