//! One tenant among three against the same tenant alone, and against the plain back end: the random questions that the
//! embedded engine is asked, of which this asks 240, times `TENANCY_TEST_SCALE`.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use crate::random::Random;
use crate::stores::Stores;
use crate::{compare, data};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_among_others_is_answered_as_if_alone() {
    let scale: u64 = std::env::var("TENANCY_TEST_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (mut questions, mut wrong) = (0, Vec::new());
    for world in 0..WORLDS * scale {
        // Other worlds than the embedded engine is asked about.
        let random = &mut Random::new(1_000_000 + world);
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
        stores.ensure_no_breach().await;
    }
    assert!(wrong.is_empty(), "{} of {questions}: {wrong:#?}", wrong.len());
    assert_eq!(questions, 240 * scale);
}

const WORLDS: u64 = 6;
const ROUNDS: u64 = 4;
const CHANGES: usize = 4;
const QUESTIONS: u64 = 10;
