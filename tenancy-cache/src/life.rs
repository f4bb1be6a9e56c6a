//! What this process knows about the entries of one life: computations under way, and removals that are owed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenancy_core::purpose::{CacheKey as KeyPurpose, Digest};
use tenancy_core::{Life, RealmTag};
use tokio::sync::RwLock;

use crate::backend::LifeTag;
use crate::error::Bypass;
use crate::flight::Flights;
use crate::layer::Layer;

/// One life's state, shared by all its handles.
pub(crate) struct LifeState {
    pub(crate) tag: LifeTag,
    pub(crate) flights: Flights,
    layers: [LayerState; Layer::ALL.len()],
}

impl LifeState {
    fn new(realm: RealmTag, life: Life) -> Self {
        Self { tag: LifeTag::new(realm, life), flights: Flights::default(), layers: Default::default() }
    }

    pub(crate) const fn layer(&self, layer: Layer) -> &LayerState {
        &self.layers[layer.index()]
    }

    pub(crate) const fn layers(&self) -> &[LayerState] {
        &self.layers
    }
}

/// One layer of one life.
#[derive(Default)]
pub(crate) struct LayerState {
    generation: AtomicU64,
    /// Fills hold it shared while they write, a removal alone: no fill that began before a removal lands after it.
    pub(crate) fills: RwLock<()>,
    owed: Mutex<Owed>,
}

/// Removals that are not known to have happened. While there is one, the layer of the life is bypassed.
#[derive(Default)]
struct Owed {
    started: u64,
    /// The number of the latest removal of each question.
    questions: HashMap<Digest<KeyPurpose>, u64>,
    /// The number of the latest removal that must be a flush.
    everything: Option<u64>,
}

/// The number of a removal: a success settles what was owed before it began.
#[derive(Clone, Copy)]
pub(crate) struct Removal(u64);

impl LayerState {
    /// What a fill must still find when it lands.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// From here on no fill lands that began before.
    pub(crate) fn retire_fills(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn ensure_settled(&self) -> Result<(), Bypass> {
        if self.lock().is_clear() { Ok(()) } else { Err(Bypass::InvalidationOwed) }
    }

    /// Notes a removal before it is tried, so that one whose future is dropped is owed too.
    pub(crate) fn owe(&self, question: Digest<KeyPurpose>) -> Removal {
        let mut owed = self.lock();
        owed.started += 1;
        let number = owed.started;
        if owed.questions.len() >= MAX_OWED && !owed.questions.contains_key(&question) {
            owed.everything = Some(number);
        } else {
            owed.questions.insert(question, number);
        }
        Removal(number)
    }

    pub(crate) fn owe_everything(&self) -> Removal {
        let mut owed = self.lock();
        owed.started += 1;
        owed.everything = Some(owed.started);
        Removal(owed.started)
    }

    pub(crate) fn settle(&self, question: &Digest<KeyPurpose>, Removal(number): Removal) {
        let mut owed = self.lock();
        if owed.questions.get(question).is_some_and(|latest| *latest <= number) {
            owed.questions.remove(question);
        }
    }

    pub(crate) fn settle_everything(&self, Removal(number): Removal) {
        let mut owed = self.lock();
        owed.questions.retain(|_, latest| *latest > number);
        owed.everything = owed.everything.filter(|latest| *latest > number);
    }

    fn lock(&self) -> MutexGuard<'_, Owed> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Owed {
    fn is_clear(&self) -> bool {
        self.questions.is_empty() && self.everything.is_none()
    }
}

/// The states of all lives that were seen.
#[derive(Default)]
pub(crate) struct Lives {
    by_life: Mutex<HashMap<Life, Arc<LifeState>>>,
}

impl Lives {
    pub(crate) fn of(&self, realm: RealmTag, life: Life) -> Arc<LifeState> {
        let mut lives = self.by_life.lock().unwrap_or_else(PoisonError::into_inner);
        if lives.len() >= SOFT_LIMIT && !lives.contains_key(&life) {
            // A state that no handle holds and that owes nothing says nothing.
            lives.retain(|_, state| {
                Arc::strong_count(state) > 1 || state.layers.iter().any(|layer| layer.ensure_settled().is_err())
            });
        }
        Arc::clone(lives.entry(life).or_insert_with(|| Arc::new(LifeState::new(realm, life))))
    }

    pub(crate) fn forget(&self, life: Life) {
        self.by_life.lock().unwrap_or_else(PoisonError::into_inner).remove(&life);
    }
}

/// Beyond so many owed removals of one layer only a flush settles.
const MAX_OWED: usize = 1024;
const SOFT_LIMIT: usize = 10_000;

#[cfg(test)]
mod tests {
    use tenancy_core::Fields;
    use tenancy_testkit::TestTenants;

    use super::*;

    #[test]
    fn a_success_settles_only_what_was_owed_before_it_began() {
        let state = LayerState::default();
        let everything = state.owe_everything();
        let later = state.owe_everything();
        state.settle_everything(everything);
        assert_eq!(state.ensure_settled(), Err(Bypass::InvalidationOwed), "the later one is still owed");
        state.settle_everything(later);
        assert_eq!(state.ensure_settled(), Ok(()));
    }

    #[tokio::test]
    async fn of_two_removals_of_one_question_the_earlier_does_not_settle_the_later() {
        let context = TestTenants::new().await.context("acme").await;
        let question = context.derive(&Fields::new()).unwrap();
        let state = LayerState::default();
        let (first, second) = (state.owe(question), state.owe(question));
        state.settle(&question, first);
        assert_eq!(state.ensure_settled(), Err(Bypass::InvalidationOwed));
        state.settle(&question, second);
        assert_eq!(state.ensure_settled(), Ok(()));
    }

    #[tokio::test]
    async fn too_many_owed_removals_become_a_flush() {
        let context = TestTenants::new().await.context("acme").await;
        let state = LayerState::default();
        let owed: Vec<_> = (0..=MAX_OWED as u64)
            .map(|n| {
                let mut fields = Fields::new();
                fields.u64(1, n);
                let question = context.derive(&fields).unwrap();
                (question, state.owe(question))
            })
            .collect();
        for (question, removal) in owed {
            state.settle(&question, removal);
        }
        assert_eq!(state.ensure_settled(), Err(Bypass::InvalidationOwed), "the last one had no place");
        let flush = state.owe_everything();
        state.settle_everything(flush);
        assert_eq!(state.ensure_settled(), Ok(()));
    }

    #[tokio::test]
    async fn a_life_is_let_go_when_nobody_holds_it_and_it_owes_nothing() {
        let realm = TestTenants::new().await.realm().tag();
        let lives = Lives::default();
        let (held, owing) = (Life::random(), Life::random());
        let state = lives.of(realm, held);
        let _ = lives.of(realm, owing).layer(Layer::Response).owe_everything();
        for _ in 2..SOFT_LIMIT {
            drop(lives.of(realm, Life::random()));
        }
        drop(lives.of(realm, Life::random()));
        assert_eq!(lives.by_life.lock().unwrap().len(), 3, "the held one, the owing one and the newest");
        assert!(Arc::ptr_eq(&lives.of(realm, held), &state));
        assert!(lives.of(realm, owing).layer(Layer::Response).ensure_settled().is_err());
    }
}
