//! A raw back end is not taken out of a vector store.

use tenancy_vector::VectorStore;

fn raw(store: &VectorStore) {
    let _raw = &store.engine;
}

fn main() {
    let _ = raw;
}
