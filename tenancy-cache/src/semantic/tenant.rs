//! The semantic cache of one context: look, fill, invalidate.

use std::fmt;
use std::marker::PhantomData;

use futures_util::future::join;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tenancy_core::Entered;
use tenancy_core::purpose::{CacheKey, Digest};

use super::answered::Answered;
use super::questions::{Era, Namespace, Question, Questions};
use super::similarity::Similarity;
use crate::caches::Scope;
use crate::envelope::{self, Kept, Plain};
use crate::error::CacheError;
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
    slot: Slot<Answered<V>>,
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
        Ok(match self.look(parts, vector).await? {
            Look::Seen(seen) => Lookup::Hit(seen.kept.value.answer),
            Look::Miss(slot) => Lookup::Miss(slot),
            Look::Bypass(reason) => Lookup::Bypass(reason),
        })
    }

    async fn look(
        &self,
        parts: &SemanticParts,
        vector: &[f32],
    ) -> Result<Look<Answered<V>, SemanticSlot<V>>, CacheError> {
        let entered = self.scope.pass.enter("cache.lookup").await?;
        let found = self.find(&entered, parts, vector).await;
        self.scope.looked(entered, Layer::Semantic, found)
    }

    async fn find(
        &self,
        entered: &Entered<'_>,
        parts: &SemanticParts,
        vector: &[f32],
    ) -> Result<Look<Answered<V>, SemanticSlot<V>>, CacheError> {
        self.questions.ensure_vector(vector, parts.dimensions)?;
        let layer = self.scope.state.layer(Layer::Semantic);
        layer.ensure_settled()?;
        let generation = layer.generation();
        let context = entered.context();
        let frame = self.scope.name(entered, parts).await?;
        let question = Question::of(context, &frame, parts.text()?)?;
        let own = envelope::find(&self.scope, entered, &question.answer);
        let (own, era) = join(own, envelope::find(&self.scope, entered, &frame)).await;
        let ((epoch, kept), (frames_epoch, era)) = (own?, era?);
        let begins = era.is_none();
        let era = self.era(Slot::new(&self.scope, frame, frames_epoch, generation), era).await?;
        let slot = SemanticSlot {
            slot: Slot::new(&self.scope, question.answer, epoch, generation),
            questions: self.questions.clone(),
            namespace: Namespace::of(context, &frame, era)?,
            question,
            vector: vector.to_vec(),
        };
        if let Some(kept) = kept {
            return Ok(Look::Seen(Seen { kept, slot }));
        }
        Ok(match if begins { None } else { self.alike(entered, &frame, &slot).await? } {
            Some(kept) => Look::Seen(Seen { kept, slot }),
            None => Look::Miss(slot),
        })
    }

    /// The era that is, or a new one. Made at the look: an answer that is computed in one is not found in the next.
    async fn era(&self, place: Slot<Era>, kept: Option<Kept<Era>>) -> Result<Era, CacheError> {
        let ttl = self.scope.shared.settings.of(Layer::Semantic).ttl;
        match kept {
            None => Ok(place.take_turn::<CacheError, _, _>(|| async { Ok(Era::random()) }).await?.0),
            Some(kept) => {
                if kept.age >= ttl / 2 {
                    place.put(&kept.value).await?;
                }
                Ok(kept.value)
            }
        }
    }

    /// The answer of the most alike question that has one.
    async fn alike(
        &self,
        entered: &Entered<'_>,
        frame: &Name,
        slot: &SemanticSlot<V>,
    ) -> Result<Option<Kept<Answered<V>>>, CacheError> {
        let asked = self.questions.alike(entered.context(), frame, &slot.namespace, (&slot.vector, self.least));
        let mut gone = Vec::new();
        let mut found = None;
        for question in self.scope.in_time(asked).await? {
            match envelope::find::<Answered<V>>(&self.scope, entered, &question.answer).await?.1 {
                Some(kept) if self.least.is_reached_by(kept.value.cosine_to(&slot.vector)) => {
                    found = Some(kept);
                    break;
                }
                Some(_) => {}
                None => gone.push(question),
            }
        }
        if !gone.is_empty() {
            // They would be looked at again and again. What can't be removed now can be later.
            let _removed = self.scope.in_time(self.questions.forget(&gone)).await;
        }
        Ok(found)
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
        let SemanticSlot { slot, questions, namespace, question, vector } = match self.look(parts, vector).await? {
            Look::Seen(seen) => return Ok(seen.kept.value.answer),
            Look::Bypass(_) => return compute().await,
            Look::Miss(slot) => slot,
        };
        let scope = slot.scope.clone();
        let compute = || async { Ok::<_, E>(Answered::new(&vector, compute().await?)) };
        let (answered, put) = slot.take_turn(compute).await?;
        if put == Some(Put::Stored)
            && let Err(error @ CacheError::Denied(_)) = keep(&scope, &questions, &namespace, (&question, &vector)).await
        {
            return Err(error.into());
        }
        Ok(answered.answer)
    }

    /// Removes the answer of this question, and lets nothing be found by meaning any more among what shares all other parts:
    /// neither this question's answer nor one that a question like it was given, in any process. Answers of other questions
    /// are still found by those very questions. What is being computed for this layer of the tenant meanwhile is not kept
    /// here, and not found by meaning anywhere.
    ///
    /// Failed or dropped, it leaves the layer bypassed as [`TenantLayer::invalidate`](crate::TenantLayer::invalidate) does.
    ///
    /// # Errors
    /// [`CacheError::Invalidate`] and [`CacheError::Bypassed`]: try again. [`CacheError::NoQuestion`];
    /// [`CacheError::Denied`].
    pub async fn invalidate(&self, parts: &SemanticParts) -> Result<(), CacheError> {
        let entered = self.scope.pass.enter("cache.invalidate").await?;
        let owed = match self.owed(&entered, parts) {
            Ok(owed) => owed,
            Err(error) => return self.scope.end(entered, Err(error)),
        };
        let remove = async |entered: &Entered<'_>, frame: &Name| {
            let question = Question::of(entered.context(), frame, parts.text()?)?;
            self.scope.remove(entered, &question.answer).await?;
            self.scope.remove(entered, frame).await
        };
        self.scope.invalidate(entered, owed, parts, remove).await
    }

    fn owed(&self, entered: &Entered<'_>, parts: &SemanticParts) -> Result<Digest<CacheKey>, CacheError> {
        let context = entered.context();
        let frame = Name::new(Layer::Semantic, question(context, self.scope.realm(), parts)?);
        within(context, &frame, Within::Question, parts.text()?.as_bytes())
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
        let plain = Plain::of(slot.scope.pass.context(), &Answered::new(&vector, value))?;
        match slot.put_plain(&plain).await? {
            Put::Stored => match keep(&slot.scope, &questions, &namespace, (&question, &vector)).await {
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
