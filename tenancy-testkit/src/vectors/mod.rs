//! Random questions to any back end of `tenancy-vector`: a tenant among others is answered as if it were alone.
//!
//! A world has a random schema and the points of three tenants, who use the same ids. They are written, changed and
//! deleted; between the changes the first tenant asks questions of every kind. Its answers are compared, to the bit, with
//! those of a back end of the same kind that holds this tenant alone, and within 1e-4 with those of one that looks at
//! every point in memory ([`ReferenceBackend`](tenancy_vector::conformance::ReferenceBackend)).
//!
//! A case is one question. Everything about it follows from the number of its world, its round and its own number.

#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

mod compare;
mod data;
mod filters;
mod matrix;
mod queries;
mod random;
mod reads;
mod shown;
mod stores;

use std::any::Any;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use tenancy_core::Realm;
use tenancy_vector::{Schema, VectorBackend};

use random::Random;
use stores::Stores;

/// An empty back end that is ready for a schema, and what has to live as long as it does: a directory, a server.
pub type Made = (Arc<dyn VectorBackend>, Box<dyn Any + Send + Sync>);

/// Who puts answers together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a third kind would be another comparison")]
pub enum Engine {
    /// The back end: of points that are as good as each other the same ones come first, however deep the query.
    Composed,
    /// A Qdrant server. Of equal points it takes any, so nothing is asked that hangs on it, and what a limit may have cut
    /// is compared by its score. It adds up the terms of a sparse vector in any order, so those scores are compared within
    /// 1e-4. A sparse vector that was deleted by its name is counted again when the point gets another, and a formula fails
    /// over a value of another kind: neither is asked for.
    Server,
}

/// The questions of one world.
pub const QUESTIONS: u64 = ROUNDS * QUESTIONS_OF_A_ROUND;

/// Asks [`QUESTIONS`] in each of the worlds, of which there are more by `TENANCY_TEST_SCALE`, and returns how many were
/// asked. `make` is called twice a world.
///
/// `TENANCY_TEST_SEED=265` asks those of world 265 alone, and `TENANCY_TEST_SEED=265:3:7` one of them, after the same
/// changes. A failure says what to set.
///
/// # Panics
/// When answers differ, after all worlds were tried; at once when a change fails. When a tenant's store was found to
/// answer wrongly.
#[expect(clippy::future_not_send, reason = "a test waits for it where it is; `make` may be any future")]
pub async fn answered_as_if_alone(
    worlds: Range<u64>,
    engine: Engine,
    make: impl AsyncFn(&Realm, &Schema) -> Made,
) -> u64 {
    let wanted = Wanted::read();
    let worlds = wanted.world.map_or(worlds.start..worlds.start + (worlds.end - worlds.start) * scale(), |w| w..w + 1);
    let (mut asked, mut wrong) = (0, Vec::new());
    for world in worlds {
        let random = &mut Random::new(world);
        let schema = data::schema(random);
        let stores = Stores::new(&schema, engine, &make).await;
        for round in 0..ROUNDS {
            for _change in 0..if round == 0 { FIRST_CHANGES } else { CHANGES } {
                stores.change(&schema, random, &format!("world {world}, round {round}")).await;
            }
            for question in (0..QUESTIONS_OF_A_ROUND).filter(|question| wanted.asks(round, *question)) {
                let at = format!("TENANCY_TEST_SEED={world}:{round}:{question}");
                // A chance of its own: it is the same when it is asked alone.
                let random = &mut random.aside(question);
                let answered = AssertUnwindSafe(compare::ask(&stores, &schema, random, &at)).catch_unwind().await;
                asked += 1;
                if answered.is_err() {
                    wrong.push(at);
                }
            }
        }
        stores.ensure_no_breach().await;
    }
    assert!(wrong.is_empty(), "{} of {asked}: {wrong:#?}", wrong.len());
    asked
}

/// What `TENANCY_TEST_SEED` asks for.
#[derive(Default)]
struct Wanted {
    world: Option<u64>,
    round: Option<u64>,
    question: Option<u64>,
}

impl Wanted {
    fn read() -> Self {
        let Ok(text) = std::env::var("TENANCY_TEST_SEED") else { return Self::default() };
        let mut numbers =
            text.split(':').map(|number| number.parse().expect("TENANCY_TEST_SEED is world:round:question"));
        Self { world: numbers.next(), round: numbers.next(), question: numbers.next() }
    }

    fn asks(&self, round: u64, question: u64) -> bool {
        self.round.is_none_or(|wanted| wanted == round) && self.question.is_none_or(|wanted| wanted == question)
    }
}

fn scale() -> u64 {
    std::env::var("TENANCY_TEST_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

const ROUNDS: u64 = 8;
const QUESTIONS_OF_A_ROUND: u64 = 10;
const FIRST_CHANGES: usize = 5;
const CHANGES: usize = 2;
