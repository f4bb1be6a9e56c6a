//! Answers found by the meaning of the question (feature `semantic`).
//!
//! A question that was answered is kept as a vector, in a store of such questions alone: each life has its own partition
//! there, and within it everything but the question's text decides what is compared with what, so that a tenant's answers
//! are never compared away *after* they were found. The answer itself is an entry like any other, sealed under a name that is
//! derived from all that and from the question, so a vector index that answers with something else finds nothing.
//!
//! ```
//! use tenancy_cache::semantic::{SemanticCache, Similarity};
//! use tenancy_cache::{Caches, MemoryBackend, SemanticParts};
//! use tenancy_core::chat::{ChatRequest, Message, ModelIdentity, Role};
//! use tenancy_core::{Realm, TenantContext, Visibility};
//! # use tenancy_vector::conformance::ReferenceBackend as QuestionsBackend;
//!
//! # async fn run(realm: &Realm, ctx: &TenantContext) -> Result<(), Box<dyn std::error::Error>> {
//! // Once, at start-up. The vectors are on a back end of their own, not the documents'.
//! let caches = Caches::new(realm, MemoryBackend::new());
//! let semantic = SemanticCache::new(realm, &caches, QuestionsBackend::new(), 3, Similarity::new(0.92)?)?;
//! semantic.prepare().await?;
//!
//! // In a request.
//! let model = ModelIdentity { id: "small".to_owned(), version: "1".to_owned(), adapter: None };
//! let parts = SemanticParts {
//!     chat: ChatRequest::new(model.clone(), vec![Message::new(Role::User, "When is the office open?")]),
//!     endpoint: "https://engine.internal".to_owned(),
//!     inputs: Vec::new(),
//!     embedding: ModelIdentity { id: "minilm".to_owned(), version: "2".to_owned(), adapter: None },
//!     dimensions: 3,
//!     instruction: None,
//!     corpora: Vec::new(),
//!     visibility: Visibility::Tenant,
//! };
//! let vector = [0.1, 0.2, 0.3]; // of the question's text
//! let answer = || async { Ok::<_, tenancy_cache::CacheError>("From nine to five.".to_owned()) };
//! let answer = semantic.scoped(ctx)?.get_or_try_compute(&parts, &vector, answer).await?;
//! # assert_eq!(answer, "From nine to five.");
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! #     let tenants = tenancy_testkit::TestTenants::new().await;
//! #     run(tenants.realm(), &tenants.context("acme").await).await.unwrap();
//! # });
//! ```
//!
//! # What it guarantees
//!
//! - An answer is given if its question's vector, which is sealed with it, is alike enough, by this crate's own reckoning. The
//!   index only says where to look.
//! - After [`invalidate`](TenantSemantic::invalidate) nothing is found by meaning among what shares its parts, in any process,
//!   until it is put anew; and after a flush, or a change of the documents, nothing at all.
//! - Keeping a question changes no version of the tenant's documents.
//!
//! # What it does not
//!
//! - How alike two questions must be for one answer to be right for both is the caller's to say. "Not" makes little
//!   difference to most models: begin high.
//! - Questions' vectors lie in their back end in the clear, as documents' do, and much of a text can be made out from its
//!   vector.
//! - What is over in the index is removed when other questions are kept. A tenant that asks no more has its last ones there
//!   until it is erased.

mod answered;
mod cache;
mod questions;
mod similarity;
mod tenant;

pub use cache::{SEMANTIC_STORE, SemanticCache};
pub use similarity::Similarity;
pub use tenant::{SemanticSlot, TenantSemantic};
