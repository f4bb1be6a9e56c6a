//! Behaviour through the public API.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on must stop")]

mod calls;
mod cancel;
mod files;
mod house;
mod registry;
