//! How alike questions have to be is not said without the check.

use tenancy_cache::semantic::Similarity;

fn f() -> Similarity {
    Similarity(-1.0)
}

fn main() {
    let _ = f;
}
