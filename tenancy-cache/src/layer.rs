//! The six layers.

/// What kind of thing a cache entry is. Bound into every key, so the same bytes in two layers are two entries.
///
/// The numbers are part of every key ever derived: append, never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layer {
    /// A model's answer.
    Response = 1,
    /// What a search found.
    Retrieval = 2,
    /// The vector of a text. Per tenant too: the time a shared one takes tells who asked before.
    Embedding = 3,
    /// A tool's result.
    Tool = 4,
    /// Answers found by the meaning of the question.
    Semantic = 5,
    /// The inference engine's own prefix cache, which is kept apart by a salt.
    Engine = 6,
}

impl Layer {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Response, Self::Retrieval, Self::Embedding, Self::Tool, Self::Semantic, Self::Engine];

    /// The name in a [`StoreKey`](crate::StoreKey).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Retrieval => "retrieval",
            Self::Embedding => "embedding",
            Self::Tool => "tool",
            Self::Semantic => "semantic",
            Self::Engine => "engine",
        }
    }

    /// Whether entries depend on the tenant's documents: their keys hold the corpus version, and while a document is
    /// being written the layer is bypassed (LightRAG 2643: "I don't know", cached before the documents were there).
    #[must_use]
    pub const fn follows_corpus(self) -> bool {
        match self {
            Self::Response | Self::Retrieval | Self::Tool | Self::Semantic => true,
            Self::Embedding | Self::Engine => false,
        }
    }

    /// Whether it keeps entries with us. The engine's are its own: what keeps them apart is in its salt.
    pub(crate) const fn has_entries(self) -> bool {
        match self {
            Self::Response | Self::Retrieval | Self::Embedding | Self::Tool | Self::Semantic => true,
            Self::Engine => false,
        }
    }

    pub(crate) const fn tag(self) -> u64 {
        self as u64
    }

    pub(crate) const fn index(self) -> usize {
        self as usize - 1
    }
}
