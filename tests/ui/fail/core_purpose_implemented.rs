//! The list of purposes is closed: a user does not implement the trait.

trait Ours {
    const INDEX: usize;
}

struct Mine;

impl tenancy_core::purpose::DataPurpose for Mine {
    const INDEX: usize = 0;
}

fn main() {
    let _ = Mine;
}
