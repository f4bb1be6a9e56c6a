//! Cross-crate tests. There is nothing here; see `tests/`.

/// The programs of this page must compile, and run.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../docs/vectors.md")]
    mod vectors {}
}
