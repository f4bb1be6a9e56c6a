//! The semantic cache of one context: look, fill, invalidate.

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tenancy_core::Entered;
use tenancy_core::purpose::{CacheKey, Digest};

use super::questions::{Namespace, Question, Questions};
use super::similarity::Similarity;
use crate::backend::CacheScope;
use crate::caches::Scope;
use crate::envelope;
use crate::error::{BackendError, Bypass, CacheError};
use crate::key::{Name, Within, question, within};
use crate::layer::Layer;
use crate::parts::SemanticParts;
use crate::slot::{Put, Slot};
use crate::tenant_layer::{Look, Lookup, Seen};

/// The semantic cache of one context, for answers of type `V`. Owned, cheap to clone, `'static`.
///
/// The vector is that of the question's text, the last message of [`SemanticParts::chat`], by the model that the parts name.
pub struct TenantSemantic<V> {
    pub(super) scope: Scope,
    pub(super) questions: Questions,
    pub(super) least: Similarity,
    pub(super) types: PhantomData<fn() -> V>,
}

/// The reserved place of an answer and of its question.
pub struct SemanticSlot<V> {
    slot: Slot<V>,
    questions: Questions,
    namespace: Namespace,
    question: Question,
    vector: Vec<f32>,
}

impl<V: Serialize + DeserializeOwned + Send + Sync> TenantSemantic<V> {
    /// The same, where questions have to be more alike. Less alike than the cache was made for they can't be: the stricter
    /// of both counts.
    #[must_use]
    pub fn at_least(mut self, least: Similarity) -> Self {
        self.least = self.least.and(least);
        self
    }

    /// Looks for the answer of this very question, then for those of questions that are alike, the most alike first.
    ///
    /// A back end of the answers or the questions that fails or is slow is a [`Lookup::Bypass`], an answer that does not open
    /// a miss that is counted and on record. Dropped at any await it changes nothing.
    ///
    /// # Errors
    /// [`CacheError::Vector`] for a vector of another dimension, with a number that is none, or of nothing but zeros;
    /// [`CacheError::NoQuestion`]; [`CacheError::Denied`].
    pub async fn lookup(
        &self,
        parts: &SemanticParts,
        vector: &[f32],
    ) -> Result<Lookup<V, SemanticSlot<V>>, CacheError> {
        let entered = self.scope.pass.enter("cache.lookup").await?;
        let found = self.find(&entered, parts, vector).await;
        Ok(match self.scope.looked(entered, Layer::Semantic, found)? {
            Look::Seen(seen) => Lookup::Hit(seen.kept.value),
            Look::Miss(slot) => Lookup::Miss(slot),
            Look::Bypass(reason) => Lookup::Bypass(reason),
        })
    }

    async fn find(
        &self,
        entered: &Entered<'_>,
        parts: &SemanticParts,
        vector: &[f32],
    ) -> Result<Look<V, SemanticSlot<V>>, CacheError> {
        self.questions.ensure_vector(vector, parts.dimensions)?;
        let layer = self.scope.state.layer(Layer::Semantic);
        layer.ensure_settled()?;
        let generation = layer.generation();
        let context = entered.context();
        let frame = self.scope.name(entered, parts).await?;
        let question = Question::of(context, &frame, parts.text()?)?;
        let of_call = CacheScope::entered(entered, &self.scope.state.tag);
        let (own, flushed) = tokio::join!(
            envelope::find(&self.scope, entered, &question.answer),
            self.scope.ask(self.scope.backend().epoch(&of_call)),
        );
        let ((epoch, kept), flushed) = (own?, flushed.map_err(|_| Bypass::Backend)?);
        let namespace = Namespace::of(context, &frame, flushed)?;
        let slot = SemanticSlot {
            slot: Slot::new(&self.scope, question.answer, epoch, generation),
            questions: self.questions.clone(),
            namespace,
            question,
            vector: vector.to_vec(),
        };
        if let Some(kept) = kept {
            return Ok(Look::Seen(Seen { kept, slot }));
        }
        for alike in self.alike(entered, &frame, &slot.namespace, vector).await? {
            if let (_, Some(kept)) = envelope::find(&self.scope, entered, &alike.answer).await? {
                return Ok(Look::Seen(Seen { kept, slot }));
            }
        }
        Ok(Look::Miss(slot))
    }

    async fn alike(
        &self,
        entered: &Entered<'_>,
        frame: &Name,
        namespace: &Namespace,
        vector: &[f32],
    ) -> Result<Vec<Question>, CacheError> {
        let asked = self.questions.alike(entered.context(), frame, namespace, (vector, self.least));
        self.scope.in_time(asked).await
    }

    /// The answer that is kept for this question or one that is alike, or the computed one, which is kept then.
    ///
    /// Of callers that ask this very question at the same time in this process one computes, as in
    /// [`TenantLayer::get_or_try_compute`](crate::TenantLayer::get_or_try_compute).
    ///
    /// # Errors
    /// `E` of the computation; as [`lookup`](Self::lookup), through `From`.
    pub async fn get_or_try_compute<E, C, F>(&self, parts: &SemanticParts, vector: &[f32], compute: C) -> Result<V, E>
    where
        C: FnOnce() -> F + Send,
        F: Future<Output = Result<V, E>> + Send,
        E: From<CacheError> + Send,
    {
        let SemanticSlot { slot, questions, namespace, question, vector } = match self.lookup(parts, vector).await? {
            Lookup::Hit(value) => return Ok(value),
            Lookup::Bypass(_) => return compute().await,
            Lookup::Miss(slot) => slot,
        };
        let is_ours = AtomicBool::new(false);
        let compute = || {
            is_ours.store(true, Ordering::Relaxed);
            compute()
        };
        let value = slot.take_turn(compute).await?;
        if is_ours.into_inner() {
            let kept = keep(&self.scope, &questions, &namespace, (&question, &vector)).await;
            if let Err(error @ CacheError::Denied(_)) = kept {
                return Err(error.into());
            }
        }
        Ok(value)
    }

    /// Removes the answers that a look for this question would find: its own, and those of questions that are alike. What is
    /// being computed for this layer of the tenant meanwhile is not kept.
    ///
    /// Failed or dropped, it leaves the layer bypassed as [`TenantLayer::invalidate`](crate::TenantLayer::invalidate) does.
    ///
    /// # Errors
    /// [`CacheError::Invalidate`] and [`CacheError::Bypassed`]: try again. Those of [`lookup`](Self::lookup).
    pub async fn invalidate(&self, parts: &SemanticParts, vector: &[f32]) -> Result<(), CacheError> {
        let entered = self.scope.pass.enter("cache.invalidate").await?;
        let owed = match self.owed(&entered, parts, vector) {
            Ok(owed) => owed,
            Err(error) => return self.scope.end(entered, Err(error)),
        };
        let remove = async |entered: &Entered<'_>, frame: &Name| self.remove(entered, frame, parts, vector).await;
        self.scope.invalidate(entered, owed, parts, remove).await
    }

    fn owed(
        &self,
        entered: &Entered<'_>,
        parts: &SemanticParts,
        vector: &[f32],
    ) -> Result<Digest<CacheKey>, CacheError> {
        self.questions.ensure_vector(vector, parts.dimensions)?;
        let context = entered.context();
        let frame = Name::new(Layer::Semantic, question(context, self.scope.realm(), parts)?);
        within(context, &frame, Within::Question, parts.text()?.as_bytes())
    }

    async fn remove(
        &self,
        entered: &Entered<'_>,
        frame: &Name,
        parts: &SemanticParts,
        vector: &[f32],
    ) -> Result<(), CacheError> {
        let context = entered.context();
        self.scope.remove(entered, &Question::of(context, frame, parts.text()?)?.answer).await?;
        let of_call = CacheScope::entered(entered, &self.scope.state.tag);
        let epoch = self.scope.ask(self.scope.backend().epoch(&of_call)).await.map_err(CacheError::Invalidate)?;
        let namespace = Namespace::of(context, frame, epoch)?;
        for _page in 0..MOST_PAGES {
            let alike = self.alike(entered, frame, &namespace, vector).await?;
            if alike.is_empty() {
                return Ok(());
            }
            for question in &alike {
                self.scope.remove(entered, &question.answer).await?;
            }
            self.scope.in_time(self.questions.forget(&alike)).await?;
        }
        Err(CacheError::Invalidate(BackendError::new("questions come back")))
    }
}

impl<V: Serialize + DeserializeOwned + Send + Sync> SemanticSlot<V> {
    /// Keeps the answer, sealed for this question, and the question's vector. Dropped at any await, or skipped because the
    /// questions' back end fails, the answer may be kept and found by this very question alone.
    ///
    /// # Errors
    /// [`CacheError::Denied`]; [`CacheError::Value`].
    pub async fn put(self, value: &V) -> Result<Put, CacheError> {
        let Self { slot, questions, namespace, question, vector } = self;
        let scope = slot.scope.clone();
        match slot.put(value).await? {
            Put::Stored => match keep(&scope, &questions, &namespace, (&question, &vector)).await {
                Ok(()) => Ok(Put::Stored),
                Err(CacheError::Bypassed(reason)) => Ok(Put::Skipped(reason)),
                Err(error) => Err(error),
            },
            skipped => Ok(skipped),
        }
    }
}

async fn keep(
    scope: &Scope,
    questions: &Questions,
    namespace: &Namespace,
    question: (&Question, &[f32]),
) -> Result<(), CacheError> {
    let ttl = scope.shared.settings.of(Layer::Semantic).ttl;
    scope.in_time(questions.keep(scope.pass.context(), namespace, question, ttl)).await
}

impl<V> Clone for TenantSemantic<V> {
    fn clone(&self) -> Self {
        Self { scope: self.scope.clone(), questions: self.questions.clone(), least: self.least, types: PhantomData }
    }
}

impl<V> fmt::Debug for TenantSemantic<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantSemantic({:?}, {:?})", self.least, self.scope.pass.context())
    }
}

impl<V> fmt::Debug for SemanticSlot<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SemanticSlot(..)")
    }
}

/// More questions than this are not alike: something brings them back.
const MOST_PAGES: usize = 1000;
