//! The one function that derives keys.
//!
//! ```text
//! 1 key schema | 2 realm | 3 life | 4 layer | 5 visibility | 6 parts | 7 shared corpora      the question
//! 8 cache epoch, of a salt | 9 corpus version, if the layer follows it | 10 those of shared corpora     the moment
//!
//! 11 which | 12 a name | 13 a question or an era     within a name: questions that are compared by meaning
//! ```
//!
//! Encoded by [`Fields`] and hashed once under a key that only the life has. The realm and the life are in the key *of*
//! the hash as well; they are written out so that two that should differ do even when a key store confuses them.
//!
//! An entry has a name, which is that hash, and a key, which is the name at an epoch: what is kept under the name is sealed
//! to the key. So one question to a store finds the entry and the epoch that it has to be of.

use std::collections::HashMap;
use std::fmt;

use tenancy_core::purpose::{self, Digest};
use tenancy_core::{CorpusVersion, Fields, Life, Names, RealmTag, Scoped, TenantContext};
use uuid::Uuid;

use crate::epoch::Epoch;
use crate::error::{Bypass, CacheError};
use crate::layer::Layer;
use crate::parts::sealed::ThisCrate;
use crate::parts::{EntryParts, KeyParts};

/// Derives the key of an entry, or the salt of an engine, from who asks, when, and everything that shapes the answer.
/// There is no other way to a key: `lookup`, `put` and `invalidate` all come through here.
///
/// # Errors
/// [`Bypass::CorpusUnknown`] when the layer follows the documents and the moment was read for a layer that does not, or
/// for other shared corpora;
/// [`CacheError::NoQuestion`]; [`CacheError::Denied`] as for any use of a context, and for another tenant's moment.
pub fn derive<P: KeyParts>(context: &TenantContext, moment: &Moment, parts: &P) -> Result<P::Key, CacheError> {
    let (Read { realm, epoch, versions }, names) = moment.0.peek_and_name(context)?;
    let hashed = if P::LAYER.has_entries() { None } else { Some(*epoch) };
    Ok(P::key(digest(&names, context, *realm, versions, hashed, parts)?, *epoch, ThisCrate(())))
}

/// The name of an entry.
pub(crate) fn name<P: EntryParts>(
    context: &TenantContext,
    realm: RealmTag,
    versions: &Versions,
    parts: &P,
) -> Result<Name, CacheError> {
    Ok(Name { layer: P::LAYER, digest: digest(&context.names()?, context, realm, versions, None, parts)? })
}

fn digest<P: KeyParts>(
    names: &Names<'_, P::Purpose>,
    context: &TenantContext,
    realm: RealmTag,
    versions: &Versions,
    epoch: Option<Epoch>,
    parts: &P,
) -> Result<Digest<P::Purpose>, CacheError> {
    let mut fields = Fields::new();
    encode(&mut fields, realm.as_bytes(), context, parts)?;
    let corpus = match (P::LAYER.follows_corpus(), versions.corpus) {
        (true, None) => return Err(Bypass::CorpusUnknown.into()),
        (true, corpus) => corpus,
        (false, _) => None,
    };
    let shared: Option<Vec<_>> = parts.corpora().iter().map(|corpus| versions.shared.get(&corpus.life())).collect();
    let shared = shared.ok_or(Bypass::CorpusUnknown)?;
    fields
        .opt_bytes(8, epoch.as_ref().map(|epoch| epoch.as_bytes().as_slice()))
        .opt_bytes(9, corpus.as_ref().map(|v| v.as_bytes().as_slice()))
        .list(10, shared, |f, version| {
            f.bytes(1, version.as_bytes());
        });
    Ok(names.derive(&fields))
}

/// Names something of which there is more than one to a name.
#[cfg(feature = "semantic")]
pub(crate) fn within(
    context: &TenantContext,
    name: &Name,
    what: Within,
    bytes: &[u8],
) -> Result<Digest<purpose::CacheKey>, CacheError> {
    let mut fields = Fields::new();
    fields.u64(11, what as u64).bytes(12, name.digest()).bytes(13, bytes);
    Ok(context.derive(&fields)?)
}

/// What it is that is named.
#[cfg(feature = "semantic")]
#[derive(Clone, Copy)]
pub(crate) enum Within {
    /// A question, by its text.
    Question = 1,
    /// The answer to a question.
    Answer = 2,
    /// The questions of an era.
    Namespace = 3,
}

/// Names the question without the moment: the same before and after a write or a flush. It finds no entry.
pub(crate) fn question<P: KeyParts>(
    context: &TenantContext,
    realm: RealmTag,
    parts: &P,
) -> Result<Digest<purpose::CacheKey>, CacheError> {
    let mut fields = Fields::new();
    encode(&mut fields, realm.as_bytes(), context, parts)?;
    Ok(context.derive(&fields)?)
}

/// In place: several kibibytes that are given back would be copied.
fn encode<P: KeyParts>(
    fields: &mut Fields,
    realm: &[u8; 16],
    context: &TenantContext,
    parts: &P,
) -> Result<(), CacheError> {
    let mut outcome = Ok(());
    fields
        .u64(1, KEY_SCHEMA)
        .bytes(2, realm)
        .uuid(3, context.life().uuid())
        .u64(4, P::LAYER.tag())
        .record(5, |f| parts.visibility().encode(context, f))
        .record(6, |f| outcome = parts.encode(f))
        .list(7, parts.corpora(), |f, corpus| {
            f.uuid(1, corpus.life().uuid());
        });
    outcome
}

/// When a question is asked: the cache epoch and the versions of the tenant's documents and of shared ones, read
/// *before* anything is retrieved. Bound to the tenant; what it holds is not shown.
pub struct Moment(Scoped<Read>);

pub(crate) struct Read {
    pub(crate) realm: RealmTag,
    pub(crate) epoch: Epoch,
    pub(crate) versions: Versions,
}

/// The versions of the documents that an answer may come from: the tenant's own, for a layer that follows them, and those of
/// shared corpora.
pub(crate) struct Versions {
    pub(crate) corpus: Option<CorpusVersion>,
    pub(crate) shared: HashMap<Life, CorpusVersion>,
}

impl Moment {
    pub(crate) fn new(context: &TenantContext, read: Read) -> Self {
        Self(context.scope(read))
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Moment(..)")
    }
}

/// Under which an entry is looked for: everything but the epoch.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Name {
    layer: Layer,
    digest: Digest<purpose::CacheKey>,
}

impl Name {
    #[cfg(feature = "semantic")]
    pub(crate) const fn new(layer: Layer, digest: Digest<purpose::CacheKey>) -> Self {
        Self { layer, digest }
    }

    pub(crate) const fn layer(&self) -> Layer {
        self.layer
    }

    pub(crate) const fn digest(&self) -> &[u8; 32] {
        self.digest.as_bytes()
    }

    pub(crate) const fn at(self, epoch: Epoch) -> CacheKey {
        CacheKey { name: self, epoch }
    }
}

/// The key of an entry. Opaque: not made from text or bytes, not read back, and `Debug` shows nothing of it. Don't hand
/// a form of it to clients: a key that two callers can compare is an oracle (LiteLLM 29955).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheKey {
    name: Name,
    epoch: Epoch,
}

impl CacheKey {
    pub(crate) const fn new(layer: Layer, digest: Digest<purpose::CacheKey>, epoch: Epoch) -> Self {
        Name { layer, digest }.at(epoch)
    }

    /// The layer.
    #[must_use]
    pub const fn layer(&self) -> Layer {
        self.name.layer
    }

    pub(crate) const fn name(&self) -> &Name {
        &self.name
    }

    pub(crate) const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// What a value under this key is sealed to: the whole digest, the layer, the schema of values and the epoch.
    pub(crate) fn place(&self) -> Fields {
        let mut place = Fields::new();
        place
            .bytes(1, self.name.digest())
            .u64(2, self.name.layer.tag())
            .u64(3, u64::from(VALUE_SCHEMA))
            .bytes(4, self.epoch.as_bytes());
        place
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CacheKey(..)")
    }
}

/// The salt that keeps a tenant's prefixes apart in an inference engine: `s1_` and 43 characters of base64url.
///
/// Never standard base64: vLLM refuses `/` in a salt (vLLM 51444), which half of all digests would have. The prefix
/// keeps it from ever being an adapter's name (vLLM 44701).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EngineSalt(String);

impl EngineSalt {
    pub(crate) fn new(digest: &Digest<purpose::EngineSalt>) -> Self {
        Self::of(digest.as_bytes())
    }

    /// A salt of nobody's, for a probe.
    pub(crate) fn random() -> Self {
        let halves = [Uuid::new_v4(), Uuid::new_v4()].map(Uuid::into_bytes);
        Self::of(halves.as_flattened())
    }

    fn of(bytes: &[u8]) -> Self {
        Self(format!("s1_{}", data_encoding::BASE64URL_NOPAD.encode(bytes)))
    }

    /// The text for the engine's body. Whoever knows it can share the tenant's prefixes: never show it to a client.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for EngineSalt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EngineSalt(..)")
    }
}

/// Changes whenever the meaning of an encoded part does: entries of an older one are never found again.
const KEY_SCHEMA: u64 = 3;

/// The form of sealed values.
pub(crate) const VALUE_SCHEMA: u16 = 3;

#[cfg(test)]
mod collisions;
#[cfg(test)]
mod tests;
