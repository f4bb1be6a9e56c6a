//! A scope to write in is not made of one to read in.

use tenancy_vector::{VectorScope, WriteScope};

fn forge<'a>(read: VectorScope<'a>, write: WriteScope<'a>) -> WriteScope<'a> {
    let _ = (read.life(), write.life());
    WriteScope(read)
}

fn main() {
    let _ = forge;
}
