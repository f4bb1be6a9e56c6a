//! A scope to drop a life in is not made of one to write in.

use tenancy_vector::{DropScope, WriteScope};

fn forge<'a>(write: WriteScope<'a>, gone: DropScope<'a>) -> DropScope<'a> {
    let _ = (write.life(), gone.life());
    write
}

fn main() {
    let _ = forge;
}
