//! What a moment holds is not read.

use tenancy_cache::Moment;

fn raw(moment: &Moment) {
    let _raw = &moment.0;
}

fn main() {
    let _ = raw;
}
