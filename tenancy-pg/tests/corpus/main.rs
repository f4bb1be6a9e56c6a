//! The judge is judged: schemas in the shapes of real products, mutations of them, and whether the inspection and the
//! prober say the same of each.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod broken;
mod correct;
mod facts;
mod operators;
mod schema;
