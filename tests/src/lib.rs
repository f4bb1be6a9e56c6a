//! Cross-crate tests. There is nothing here; see `tests/`.
