//! A scope to drop a life in is not made of one to read in.

use tenancy_vector::{DropScope, VectorScope};

fn forge<'a>(read: VectorScope<'a>, gone: DropScope<'a>) -> DropScope<'a> {
    let _ = (read.life(), gone.life());
    DropScope(read)
}

fn main() {
    let _ = forge;
}
