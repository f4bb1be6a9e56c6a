//! What must not compile, and twins that do.
//!
//! Each claim "this can't be written" is a pair of files: `fail/NAME.rs`, which the compiler must refuse for the claimed
//! reason, and `pass/NAME.rs`, which differs from it in one line and compiles. Without the twin, a file that fails for
//! a misspelt import would prove nothing.
//!
//! To add a claim:
//!
//! 1. Write `fail/NAME.rs`: first line `//! The claim, in one sentence.`, no warnings of its own, and a `fn main`.
//! 2. Copy it to `pass/NAME.rs`, change the one line, and give it a header of its own.
//! 3. Add NAME to the list in `tests/twins.rs` and a row to `docs/claims.md`: name, the same sentence, the error code.
//! 4. Run `TRYBUILD=overwrite cargo test -p tenancy-ui-tests --test ui -- compile trybuild=NAME.rs`, and read
//!    `fail/NAME.stderr`: is it the claimed reason that the compiler gives?
//!
//! `NAME` begins with the crate it is about: `core_`, `cache_`, `vector_`, `pg_`, `tools_`, `stack_`. The messages are
//! those of the toolchain in `rust-toolchain.toml`.
