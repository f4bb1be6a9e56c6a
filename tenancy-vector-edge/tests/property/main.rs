//! One tenant among three against the same tenant alone, and against the plain back end.
//!
//! Random points of three tenants with the same ids are written, changed and deleted; after each round of changes the
//! first tenant asks random questions of every kind. The answers of the store with three tenants are those, to the bit,
//! of a store that holds this tenant alone, and within 1e-4 those of a back end that looks at every point in memory.
//!
//! A case is one question. There are 1,000, times `TENANCY_TEST_SCALE`. Everything follows from the number of the
//! world, which a failure names.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

mod compare;
mod data;
mod filters;
mod queries;
mod random;
mod stores;

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use random::Random;
use stores::Stores;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_among_others_is_answered_as_if_alone() {
    let scale: u64 = std::env::var("TENANCY_TEST_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (mut questions, mut wrong) = (0, Vec::new());
    for world in 0..WORLDS * scale {
        let random = &mut Random::new(world);
        let schema = data::schema(random);
        let stores = Stores::new(&schema).await;
        for round in 0..ROUNDS {
            let at = format!("world {world}, round {round}");
            for _change in 0..CHANGES {
                stores.change(&schema, random, &at).await;
            }
            for question in 0..QUESTIONS {
                let at = format!("{at}, question {question}");
                let asked = AssertUnwindSafe(compare::ask(&stores, &schema, random, &at)).catch_unwind().await;
                questions += 1;
                if asked.is_err() {
                    wrong.push(at);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {questions}: {wrong:#?}", wrong.len());
    assert_eq!(questions, 1000 * scale);
}

const WORLDS: u64 = 25;
const ROUNDS: u64 = 4;
const CHANGES: usize = 4;
const QUESTIONS: u64 = 10;
