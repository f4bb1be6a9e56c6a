//! Vector search that cannot leave its tenant.
//!
//! A search engine returns whatever its filter lets through, and a forgotten filter lets everything through. Here a
//! [`VectorStore`] has no method that reads or writes a point; the handle that [`VectorStore::scoped`] gives has no way
//! to name a tenant. The engine is asked with the tenant as a condition, and what it answers is checked point by point.
//!
//! # How do I obtain a `TenantContext`?
//!
//! From a credential, through the [`Realm`](tenancy_core::Realm): `realm.authenticate(&Credential::bearer(token))`, or
//! the web layer, or a job ticket in a worker.
//!
//! # Smallest example
//!
//! ```
//! use tenancy_vector::*;
//! # use tenancy_vector::conformance::ReferenceBackend as Backend;
//!
//! # async fn run(realm: &tenancy_core::Realm, ctx: &tenancy_core::TenantContext)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! let store = VectorStore::new(realm, Backend::new(), Schema::hybrid(3)?);
//!
//! let mine: TenantVectors = store.scoped(ctx)?;
//! let id = ExternalId::parse("handbook#1")?;
//! let terms = SparseVector::new(vec![7, 40], vec![1.0, 2.0])?;
//! mine.upsert(vec![Point::hybrid(id.clone(), vec![0.1, 0.2, 0.3], terms.clone(), serde_json::Map::new())?]).await?;
//!
//! let hits = mine.query(&VectorQuery::hybrid(vec![0.1, 0.2, 0.2], terms)?.limit(5)?).await?;
//! assert_eq!(hits[0].id(), &id);
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! #     let tenants = tenancy_testkit::TestTenants::new().await;
//! #     run(tenants.realm(), &tenants.context("acme").await).await.unwrap();
//! # });
//! ```
//!
//! Use the embedded engine of `tenancy-vector-edge`, a Qdrant server (feature `qdrant`), Postgres (feature `pgvector`), or
//! implement [`VectorBackend`]. The page `docs/vectors.md` says which for what, and has a program from end to end.
//!
//! # Documents that all tenants read
//!
//! Statutes or manuals are kept once, as a [`SharedVectors`] on a back end of its own. A tenant's handle reads it and has
//! no method that writes; an operator writes it with a grant for that corpus, which every tenant finds in its own log.
//! Each hit says where it comes from.
//!
//! ```
//! use std::time::Duration;
//! use tenancy_core::{CorpusName, Credential, Reach, Realm, TenantContext};
//! use tenancy_vector::*;
//!
//! /// An operator brings in a new edition.
//! async fn publish(realm: &Realm, statutes: &SharedVectors, operator: &Credential, edition: Vec<Point>)
//! -> Result<(), Box<dyn std::error::Error>> {
//!     let (reach, hour) = (Reach::Corpus(statutes.corpus().name().clone()), Duration::from_secs(3600));
//!     let grant = realm.operators().open(operator, "edition of December", "CASE-52", reach, hour).await?;
//!     Ok(statutes.publish(&grant).await?.upsert(edition).await?)
//! }
//!
//! /// A tenant asks its own documents and the statutes at once.
//! async fn ask(mine: &TenantVectors, statutes: &SharedVectors, ctx: &TenantContext, query: &VectorQuery)
//! -> Result<Vec<Hit>, VectorError> {
//!     println!("{} points of the statutes", statutes.scoped(ctx)?.count(None).await?);
//!     let hits = mine.query_with(query, &[(statutes, query)], &Fusion::ranks()).await?;
//!     for hit in &hits {
//!         match hit.origin() {
//!             Origin::Own => println!("{}", hit.id().as_str()),
//!             Origin::Shared(corpus) => println!("{} of {corpus}", hit.id().as_str()),
//!         }
//!     }
//!     Ok(hits)
//! }
//! # use tenancy_vector::conformance::ReferenceBackend as Backend;
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! #     let tenants = tenancy_testkit::TestTenants::new().await;
//! #     let (realm, ctx) = (tenants.realm(), tenants.context("acme").await);
//! #     let name = CorpusName::parse("statutes").unwrap();
//! #     let statutes = SharedVectors::new(realm, &name, Backend::new(), Schema::hybrid(3).unwrap());
//! #     let operator = Credential::bearer(tenants.operator_token());
//! #     let point = Point::hybrid(ExternalId::parse("1").unwrap(), vec![1.0; 3], SparseVector::empty(), Default::default());
//! #     publish(realm, &statutes, &operator, vec![point.unwrap()]).await.unwrap();
//! #     let store = VectorStore::new(realm, Backend::new(), Schema::hybrid(3).unwrap());
//! #     let query = VectorQuery::dense(vec![1.0; 3]).unwrap();
//! #     assert_eq!(ask(&store.scoped(&ctx).unwrap(), &statutes, &ctx, &query).await.unwrap().len(), 1);
//! # });
//! ```
//!
//! Keys of what is kept of such answers name the corpus: `corpora` in the parts of `tenancy-cache`.
//!
//! # Lives that grow
//!
//! [`tiers`] keeps most lives in one back end and large ones in another, such as a Qdrant collection of all and a shard key for
//! each, and takes a life from the one to the other and back while it is read and written.
//!
//! # What it guarantees
//!
//! - No call reaches a back end without a [`VectorScope`], which only a checked call can make. An erased or suspended
//!   tenant's handle stops within the fence's bound.
//! - A point is found under the external id its own tenant gave it. Another tenant's id and one that never existed are
//!   the same to results, work and record.
//! - An answer of another life, without a tag, with a tag that our key did not make, outside the filter, beyond the
//!   limit or without a score fails the whole call, with a record.
//! - The caller's filter stands beside the tenant condition, never in its list. An empty list of allowed values finds
//!   nothing.
//! - What is asked is weighed before anything walks or sends it, text by text: [`Filter::MAX_BYTES`], [`VectorQuery::MAX_BYTES`],
//!   [`Change::MAX_BYTES`].
//! - Slow calls of some lives leave turns of a server, and threads of the embedded engine, to the others: [`turns`].
//! - Every write changes the version of the tenant's documents, so caches above do not answer from before it.
//! - Equal scores come in the order of external ids. Which of several equal ones come within a limit is the engine's
//!   choice.
//! - A re-ranker is given hits that were checked a moment before, and what it put in order is handed out only while the
//!   tenant is served.
//! - While a life moves, reads see each of its points once, and what one wrote; a write that went through is there after the
//!   move. A back end that a life is moved to can't fail its writes, and one that is away is not stood in for by the other.
//!
//! # Recall
//!
//! What is found of the best fifty of a tenant's hundred points, where every tenant's are about the same ten topics
//! (`cargo xtask bench vector`; 80 to 200 questions, the truth by a look at each point). The engines search exactly here.
//!
//! | tenants | the tenant as a condition | a shard for each tenant | fifty of everybody's, filtered afterwards | five hundred of everybody's |
//! |---|---|---|---|---|
//! | 10 | 1.0 | 1.0 | 0.107 | 0.973 |
//! | 100 | 1.0 | 1.0 | 0.009 | 0.098 |
//! | 1,000 | 1.0 | 1.0 | 0.001 | 0.011 |
//!
//! # What it does not
//!
//! - It asks for no [`Permission`](tenancy_core::Permission): a context reads and writes all points of its tenant. Which user
//!   may do what within one, a handler says with [`authorize`](tenancy_core::TenantContext::authorize), and which documents a
//!   user may see with a filter on what is stored with them.
//! - A count, a facet, a score, and how many ids a deletion found are believed: there is nothing in them to check. Of a point
//!   the tag is checked, which says whose it is and which; what else is in its payload is the engine's word.
//! - Scores of a sparse query depend on all of the tenant's points, also those a user inside the tenant may not see.
//! - How long a call takes is not hidden.
//! - A write to a life that moves, and that is given up after [`tiers::TieredBackend::patience`], may still be done or not. What
//!   does it later than twice that time, a process that stood still or a server that kept it for so long, is not held off.
//! - A point that was written past this crate, with a payload deeper than a server's answer can be read, counts, and fails the
//!   scans and moves of its life; an erasure takes it along. Of one deeper than 127 levels, which the server can't read itself, the
//!   server keeps the vectors then, without a tag: nobody's.
//! - As many lives with slow calls as an engine has turns take them all.
//! - Vectors and payloads are not encrypted by this crate.
//!
//! # Features
//!
//! - `pgvector`: Postgres with pgvector as a back end, [`pgvector`].
//! - `qdrant`: a Qdrant server as a back end, [`qdrant`].
//!
//! # MSRV
//!
//! Rust 1.95.

mod answers;
mod backend;
pub mod conformance;
mod error;
mod exact;
mod filter;
mod id;
pub mod marker;
mod name;
mod payload;
#[cfg(feature = "pgvector")]
pub mod pgvector;
mod point;
mod points;
#[cfg(feature = "qdrant")]
pub mod qdrant;
mod query;
mod request;
pub mod reserved;
mod schema;
mod scope;
mod shared;
mod store;
mod tag;
mod tenant;
mod text;
pub mod tiers;
pub mod turns;
mod vector;

// The public interface is:
pub use backend::{ScoredPayload, StoredPayload, VectorBackend};
pub use error::{BackendError, VectorError};
pub use filter::{Area, Condition, Filter, FilterValue, Place, Range, Words};
pub use id::{ExternalId, PointKey};
pub use name::VectorName;
pub use payload::PayloadKey;
pub use point::{Deleted, Found, FoundPoint, Hit, Origin, Point};
pub use query::{Example, Fusion, Ranks, Recommend, VectorQuery, fuse, in_order};
pub use request::{
    CountRequest, Decay, Expression, FacetRequest, Find, Order, OrderFrom, Pair, Position, QueryRequest, ScrollRequest,
    Search, Selector, Strategy, TaggedPoint, TaggedVectors, UpsertMode, Write, WriteRequest,
};
pub use schema::{Distance, IndexKind, Schema, VectorKind};
pub use scope::{DropScope, VectorScope, WriteScope};
pub use shared::{CorpusWriter, SHARED_STORE, SharedCorpus, SharedVectors};
pub use store::{STORE, VectorStore};
pub use tenancy_core::Reason;
pub use tenant::{
    Candidates, Change, Cursor, Facet, GroupBy, HitGroup, Near, Page, Reranker, Scroll, Select, TenantVectors, Upload,
    UploadError, Vectors,
};
pub use text::{Language, TextOptions};
pub use vector::{DenseVector, Input, MultiVector, SparseVector, Vector};
