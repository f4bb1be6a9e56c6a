//! The twin of `fail/vector_back_end_taken_out.rs`: one line differs.

use tenancy_vector::VectorStore;

fn raw(store: &VectorStore) {
    let _store = store;
}

fn main() {
    let _ = raw;
}
