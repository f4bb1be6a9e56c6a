//! Whose points a [`Vectors`](crate::Vectors) is about, as a type: what may be done with them hangs on it.

/// A tenant's own points: read and written.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Own {}

/// Points of a shared corpus: read only.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Shared {}
