//! Whose points, in which engine: the part of a handle that turns what a caller says into what a back end is asked.

mod change;
mod keys;

use std::collections::BTreeMap;
use std::sync::Arc;

use tenancy_core::{Corpus, Denial, Life, RealmTag, TenantContext};

pub(crate) use self::keys::Keys;
use crate::error::{BackendError, VectorError};
use crate::filter::{Filter, Reduced};
use crate::id::{ExternalId, PointKey};
use crate::point::{Origin, Point};
use crate::query::{Examples, Lowering};
use crate::request::{TaggedPoint, Write, WriteRequest};
use crate::scope::Partition;
use crate::store::Engine;
use crate::tag;
use crate::tenant::MAX_BATCH;
use crate::text;

/// Whose points are meant: what keys and tags are made of, and compared with on the way back.
#[derive(Clone)]
pub(crate) enum Owner {
    Tenant(TenantContext),
    Shared(Corpus),
}

impl Owner {
    /// What the tag of each point holds.
    pub(crate) fn life(&self) -> Life {
        match self {
            Self::Tenant(context) => context.life(),
            Self::Shared(corpus) => corpus.life(),
        }
    }

    fn realm(&self) -> RealmTag {
        match self {
            Self::Tenant(context) => context.realm(),
            Self::Shared(corpus) => corpus.realm(),
        }
    }

    pub(crate) fn key(&self, id: &ExternalId) -> Result<PointKey, Denial> {
        self.keys().map(|keys| keys.of(id))
    }

    pub(crate) fn keys_of(&self, ids: &[ExternalId]) -> Result<Vec<PointKey>, Denial> {
        self.keys().map(|keys| ids.iter().map(|id| keys.of(id)).collect())
    }

    /// Asks the context once for all keys of a write or an answer.
    pub(crate) fn keys(&self) -> Result<Keys<'_>, Denial> {
        let names = match self {
            Self::Tenant(context) => context.names()?,
            Self::Shared(corpus) => corpus.names(),
        };
        Ok(Keys::new(self, names))
    }

    /// What a back end's failure means to a caller.
    pub(crate) fn failed(&self, error: BackendError) -> VectorError {
        match (self, error) {
            (Self::Shared(_), BackendError::Dropped) => VectorError::CorpusErased,
            (Self::Tenant(_) | Self::Shared(_), error) => error.into(),
        }
    }

    /// Where a point that was checked to be theirs comes from.
    pub(crate) fn origin(&self) -> Origin {
        match self {
            Self::Tenant(_) => Origin::Own,
            Self::Shared(corpus) => Origin::Shared(corpus.name().clone()),
        }
    }
}

/// The points of one owner in an engine. It asks nothing: who asks shows that the call was let in.
#[derive(Clone)]
pub(crate) struct Points {
    pub(crate) engine: Arc<Engine>,
    pub(crate) owner: Owner,
    pub(crate) partition: Partition,
}

impl Points {
    pub(crate) fn new(engine: &Arc<Engine>, owner: Owner) -> Self {
        let partition = Partition::new(owner.realm(), owner.life());
        Self { engine: Arc::clone(engine), owner, partition }
    }

    /// A caller's filter as a condition.
    pub(crate) fn condition(&self, filter: Option<&Filter>) -> Result<Reduced, VectorError> {
        if let Some(filter) = filter {
            filter.ensure_sound()?;
        }
        self.lowering(&Examples::new()).condition(filter)
    }

    pub(crate) fn lowering<'a>(&'a self, examples: &'a Examples) -> Lowering<'a> {
        Lowering { schema: &self.engine.schema, owner: &self.owner, examples }
    }

    pub(crate) fn request(&self, writes: Vec<Write>) -> WriteRequest {
        WriteRequest { schema: self.engine.schema.clone(), writes }
    }

    fn tagged(&self, keys: &Keys<'_>, point: Point) -> Result<TaggedPoint, VectorError> {
        let Point { id, vectors, payload } = point;
        let key = keys.of(&id);
        let payload = tag::stamp(self.owner.life(), &key, &id, payload);
        let vector = |(name, input)| {
            let vector = text::vector(&self.engine.schema, &name, &input, text::Side::Document)?;
            Ok((name, vector))
        };
        let vectors: BTreeMap<_, _> = vectors.into_iter().map(vector).collect::<Result<_, VectorError>>()?;
        Ok(TaggedPoint { key, vectors, payload })
    }
}

pub(crate) const fn ensure_batch(items: usize) -> Result<(), VectorError> {
    if items > MAX_BATCH { Err(VectorError::TooMany { most: MAX_BATCH }) } else { Ok(()) }
}
