//! Random requests, each made twice: as a message for the server and, by other code, for a shard of the engine that holds
//! the same points. What the server answers is what the engine answers.
//!
//! 500 requests, 10,000 with `TENANCY_TEST_SCALE=20` (`cargo xtask test --full`). A failure names its seed.

mod dice;
mod filters;
mod points;
mod queries;
mod reads;
mod writes;
