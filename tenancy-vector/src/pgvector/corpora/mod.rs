//! Shared corpora in tables of their own.

mod backend;
mod drift;
mod tables;

pub use backend::PgCorpusBackend;
pub use tables::PgCorpusTables;
