//! What shapes an entry, layer by layer.
//!
//! Every struct is exhaustive on purpose, has no `Default` and is encoded by destructuring without `..`: a new field
//! breaks the encoder here and every caller, so no parameter can shape an answer and be missing in its key. Lists of
//! the parameters that *count* went stale in product after product (LiteLLM 894, 5049, 25673).

use tenancy_core::chat::{ChatRequest, ModelIdentity, Role};
use tenancy_core::purpose::{self, DataPurpose, Digest};
use tenancy_core::{Corpus, Fields, Visibility};

use crate::canonical::CanonicalJson;
use crate::epoch::Epoch;
use crate::error::CacheError;
use crate::key::{CacheKey, EngineSalt};
use crate::layer::Layer;

/// The parts of one layer's keys. Sealed: the list is closed.
pub trait KeyParts: sealed::Encode + Send + Sync {
    /// The layer.
    const LAYER: Layer;

    /// Who inside the tenant may see the entry.
    fn visibility(&self) -> Visibility;

    /// The shared corpora whose documents may have shaped it, beside the tenant's own.
    fn corpora(&self) -> &[Corpus];
}

/// The parts of a layer that keeps entries with us, as all do but the engine's.
pub trait EntryParts: KeyParts<Key = CacheKey, Purpose = purpose::CacheKey> {}

impl<P: KeyParts<Key = CacheKey, Purpose = purpose::CacheKey>> EntryParts for P {}

pub(crate) mod sealed {
    use super::{CacheError, DataPurpose, Digest, Epoch, Fields};

    /// Shown by whoever turns a digest into a key. A bound on a sealed trait brings its functions into scope for
    /// everybody, so what must stay in this crate asks for a value that only this crate can make.
    #[derive(Debug)]
    pub struct ThisCrate(pub(crate) ());

    /// How the parts become a key. Nobody else turns a digest into one.
    pub trait Encode {
        type Purpose: DataPurpose;
        type Key;
        fn encode(&self, fields: &mut Fields) -> Result<(), CacheError>;
        fn key(digest: Digest<Self::Purpose>, epoch: Epoch, by: ThisCrate) -> Self::Key;
    }
}

macro_rules! key_parts {
    ($($parts:ident => $layer:ident, $corpora:expr;)*) => {$(
        impl KeyParts for $parts {
            const LAYER: Layer = Layer::$layer;

            fn visibility(&self) -> Visibility {
                self.visibility
            }

            fn corpora(&self) -> &[Corpus] {
                let corpora: fn(&Self) -> &[Corpus] = $corpora;
                corpora(self)
            }
        }
    )*};
}

key_parts! {
    ResponseParts => Response, |parts| &parts.corpora;
    RetrievalParts => Retrieval, |parts| &parts.corpora;
    EmbeddingParts => Embedding, |_| &[];
    ToolParts => Tool, |parts| &parts.corpora;
    SemanticParts => Semantic, |parts| &parts.corpora;
    EngineParts => Engine, |_| &[];
}

/// A model's answer to one request.
#[expect(clippy::exhaustive_structs, reason = "a new field must break every place that names them all")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseParts {
    /// The request: give the engine this very value.
    pub chat: ChatRequest,
    /// Where it is sent: two engines with the same model name are two (LightRAG 2982).
    pub endpoint: String,
    /// The bytes of whatever else shaped the answer: the passages that were found, a profile, a flag.
    pub inputs: Vec<Vec<u8>>,
    /// The shared corpora that were searched, beside the tenant's own documents. Their versions are in the key too.
    pub corpora: Vec<Corpus>,
    /// Who inside the tenant may be given the answer.
    pub visibility: Visibility,
}

impl sealed::Encode for ResponseParts {
    type Purpose = purpose::CacheKey;
    type Key = CacheKey;

    fn encode(&self, fields: &mut Fields) -> Result<(), CacheError> {
        // `visibility` and `corpora` stand in the part of the key that all layers have.
        let Self { chat, endpoint, inputs, corpora: _, visibility: _ } = self;
        fields.record(1, |f| chat.encode(f)).text(2, endpoint).list(3, inputs, |f, input| {
            f.bytes(1, input);
        });
        Ok(())
    }

    fn key(digest: Digest<Self::Purpose>, epoch: Epoch, _: sealed::ThisCrate) -> CacheKey {
        CacheKey::new(Layer::Response, digest, epoch)
    }
}

/// What a search finds.
#[expect(clippy::exhaustive_structs, reason = "a new field must break every place that names them all")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrievalParts {
    /// The text that is searched for.
    pub query: String,
    /// The filter after it was resolved, in whatever byte form the caller has.
    pub filter: Vec<u8>,
    /// How it is searched: dense, hybrid, with which re-ranker.
    pub strategy: String,
    /// How many hits.
    pub limit: u32,
    /// The embedding model.
    pub model: ModelIdentity,
    /// The shared corpora that were searched, beside the tenant's own documents. Their versions are in the key too.
    pub corpora: Vec<Corpus>,
    /// Who inside the tenant may be given the hits.
    pub visibility: Visibility,
}

impl sealed::Encode for RetrievalParts {
    type Purpose = purpose::CacheKey;
    type Key = CacheKey;

    fn encode(&self, fields: &mut Fields) -> Result<(), CacheError> {
        let Self { query, filter, strategy, limit, model, corpora: _, visibility: _ } = self;
        fields
            .text(1, query)
            .bytes(2, filter)
            .text(3, strategy)
            .u64(4, u64::from(*limit))
            .record(5, |f| model.encode(f));
        Ok(())
    }

    fn key(digest: Digest<Self::Purpose>, epoch: Epoch, _: sealed::ThisCrate) -> CacheKey {
        CacheKey::new(Layer::Retrieval, digest, epoch)
    }
}

/// The vector of a text.
#[expect(clippy::exhaustive_structs, reason = "a new field must break every place that names them all")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingParts {
    /// The text, byte for byte: nothing is trimmed or normalised.
    pub text: String,
    /// The embedding model and its version.
    pub model: ModelIdentity,
    /// How many dimensions are asked for.
    pub dimensions: u32,
    /// The instruction that goes before the text, if the model takes one.
    pub instruction: Option<String>,
    /// Who inside the tenant may be given the vector.
    pub visibility: Visibility,
}

impl sealed::Encode for EmbeddingParts {
    type Purpose = purpose::CacheKey;
    type Key = CacheKey;

    fn encode(&self, fields: &mut Fields) -> Result<(), CacheError> {
        let Self { text, model, dimensions, instruction, visibility: _ } = self;
        fields
            .text(1, text)
            .record(2, |f| model.encode(f))
            .u64(3, u64::from(*dimensions))
            .opt_text(4, instruction.as_deref());
        Ok(())
    }

    fn key(digest: Digest<Self::Purpose>, epoch: Epoch, _: sealed::ThisCrate) -> CacheKey {
        CacheKey::new(Layer::Embedding, digest, epoch)
    }
}

/// A tool's result.
#[expect(clippy::exhaustive_structs, reason = "a new field must break every place that names them all")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolParts {
    /// The tool.
    pub name: String,
    /// Its version: change it whenever the tool answers differently.
    pub version: String,
    /// What the tool may reach in this call, resolved: a folder, a host list, a statement.
    pub scope: Vec<u8>,
    /// The arguments. The order in which a model wrote their names does not matter, all else does.
    pub arguments: CanonicalJson,
    /// The shared corpora that were searched, beside the tenant's own documents. Their versions are in the key too.
    pub corpora: Vec<Corpus>,
    /// Who inside the tenant may be given the result.
    pub visibility: Visibility,
}

impl sealed::Encode for ToolParts {
    type Purpose = purpose::CacheKey;
    type Key = CacheKey;

    fn encode(&self, fields: &mut Fields) -> Result<(), CacheError> {
        let Self { name, version, scope, arguments, corpora: _, visibility: _ } = self;
        fields.text(1, name).text(2, version).bytes(3, scope).text(4, arguments.as_str());
        Ok(())
    }

    fn key(digest: Digest<Self::Purpose>, epoch: Epoch, _: sealed::ThisCrate) -> CacheKey {
        CacheKey::new(Layer::Tool, digest, epoch)
    }
}

/// The namespace in which questions are compared by meaning: everything that shapes an answer but the text of the
/// question itself.
#[expect(clippy::exhaustive_structs, reason = "a new field must break every place that names them all")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SemanticParts {
    /// The whole request. It must end with a user's message; that message's text alone is left out of the key.
    pub chat: ChatRequest,
    /// Where it is sent.
    pub endpoint: String,
    /// The bytes of whatever else shapes the answer.
    pub inputs: Vec<Vec<u8>>,
    /// The embedding model: distances of two models don't compare.
    pub embedding: ModelIdentity,
    /// How many dimensions its vectors have.
    pub dimensions: u32,
    /// The instruction that goes before the text, if the model takes one.
    pub instruction: Option<String>,
    /// The shared corpora that were searched, beside the tenant's own documents. Their versions are in the key too.
    pub corpora: Vec<Corpus>,
    /// Who inside the tenant may be given the answers.
    pub visibility: Visibility,
}

#[cfg(feature = "semantic")]
impl SemanticParts {
    /// The question itself.
    pub(crate) fn text(&self) -> Result<&str, CacheError> {
        let question = self.chat.messages.last().filter(|message| message.role == Role::User);
        Ok(&question.ok_or(CacheError::NoQuestion)?.content)
    }
}

impl sealed::Encode for SemanticParts {
    type Purpose = purpose::CacheKey;
    type Key = CacheKey;

    fn encode(&self, fields: &mut Fields) -> Result<(), CacheError> {
        let Self { chat, endpoint, inputs, embedding, dimensions, instruction, corpora: _, visibility: _ } = self;
        let mut frame = chat.clone();
        let question = frame.messages.last_mut().filter(|message| message.role == Role::User);
        question.ok_or(CacheError::NoQuestion)?.content.clear();
        fields
            .record(1, |f| frame.encode(f))
            .text(2, endpoint)
            .list(3, inputs, |f, input| {
                f.bytes(1, input);
            })
            .record(4, |f| embedding.encode(f))
            .u64(5, u64::from(*dimensions))
            .opt_text(6, instruction.as_deref());
        Ok(())
    }

    fn key(digest: Digest<Self::Purpose>, epoch: Epoch, _: sealed::ThisCrate) -> CacheKey {
        CacheKey::new(Layer::Semantic, digest, epoch)
    }
}

/// The part of an inference engine's prefix cache that a request may share.
#[expect(clippy::exhaustive_structs, reason = "a new field must break every place that names them all")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineParts {
    /// The model with its adapter's digest: reloaded under an old name, an adapter is another one (vLLM 42125).
    pub model: ModelIdentity,
    /// Who inside the tenant may share prefixes.
    pub visibility: Visibility,
}

impl sealed::Encode for EngineParts {
    type Purpose = purpose::EngineSalt;
    type Key = EngineSalt;

    fn encode(&self, fields: &mut Fields) -> Result<(), CacheError> {
        let Self { model, visibility: _ } = self;
        fields.record(1, |f| model.encode(f));
        Ok(())
    }

    fn key(digest: Digest<Self::Purpose>, _: Epoch, _: sealed::ThisCrate) -> EngineSalt {
        EngineSalt::new(&digest)
    }
}
