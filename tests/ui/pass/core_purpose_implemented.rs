//! The twin of `fail/core_purpose_implemented.rs`: one line differs.

trait Ours {
    const INDEX: usize;
}

struct Mine;

impl Ours for Mine {
    const INDEX: usize = 0;
}

fn main() {
    let _ = Mine;
}
