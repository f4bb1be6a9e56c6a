//! Lives that are moved from one back end to the other while they are read and written.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on must stop")]

#[expect(dead_code, reason = "the other cases have tests of their own")]
#[path = "../cases/mod.rs"]
mod cases;
mod doubt;
mod erasing;
#[path = "../cases/fake.rs"]
mod fake;
mod house;
mod leases;
mod lies;
mod lost;
mod moves;
mod races;
mod stops;
mod torture;
