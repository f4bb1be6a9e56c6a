//! The twin of `fail/cache_parts_by_default.rs`: one line differs.

type Parts = String;

fn main() {
    let _parts: Parts = Default::default();
}
