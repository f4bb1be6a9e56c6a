//! Vectors in Postgres, with pgvector: a back end on [`tenancy-pg`](tenancy_pg).
//!
//! One table holds the points of all lives, under forced row level security, and each call runs in a transaction of its
//! tenant. So three things keep tenants apart: the policy, the tenant and the life as conditions in each statement, and the
//! look at what comes back.
//!
//! ```no_run
//! # async fn run(realm: &tenancy_core::Realm, ctx: &tenancy_core::TenantContext) -> Result<(), Box<dyn std::error::Error>> {
//! use tenancy_pg::{Database, Declaration, PgOptions};
//! use tenancy_vector::pgvector::{PgVectorBackend, PgVectorTables};
//! use tenancy_vector::{Schema, VectorQuery, VectorStore};
//!
//! let schema = Schema::hybrid(768)?;
//! let tables = PgVectorTables::new("public", "chunk", &schema)?;
//! let [points, lives] = tables.tenant_tables();
//! let declaration = Declaration::builder().tenant_table(points).tenant_table(lives).build()?;
//! // The owner has run `tables.migration_sql(&declaration, "app", "vector_eraser")`.
//! let database = Database::open(realm, PgOptions::new("postgres://app@db.internal/rag".parse()?), &declaration).await?;
//! let backend = PgVectorBackend::new(database, tables)?
//!     .erasing_as("postgres://vector_eraser@db.internal/rag".parse()?); // only where tenants are erased
//!
//! let store = VectorStore::new(realm, backend, schema);
//! store.prepare().await?; // refuses tables that are not protected, or were made for another schema
//! let hits = store.scoped(ctx)?.query(&VectorQuery::dense(vec![0.1; 768])?).await?;
//! # let _ = hits;
//! # Ok(())
//! # }
//! ```
//!
//! # What it is good for
//!
//! Tenants whose points are searched by one dense vector, with filters, in the database that the service has anyway; lives
//! of some tens of thousands of points, which the server looks at one by one and so finds the nearest of without fail. A
//! tenant with more gets an index of its own ([`PgVectorTables::index_sql`]), which is approximate, as such indexes are: how
//! many points come is never less for it, and a query that is to be exact does not use it.
//!
//! # What it is not good for
//!
//! Only the nearest by a dense vector are picked by the server. Of a sparse query all points with one of its terms come
//! here to be scored, and for recommendations, discovery, late interaction, facets and orders by a value all points of the
//! life that meet the filter, as far as the server can tell it: conditions on words, places, points in time and nested
//! objects are decided here. With lives of more than some tens of thousands of points that is slow and takes memory.
//!
//! Row keys are uuids, by default the lives; those of a database that was adopted may be numbers or texts
//! ([`PgVectorTables::with_row_keys`]). Points have ties broken and terms weighed as everywhere, over the life's own
//! points, so the hits are those of the plain back end.
//!
//! # What the inspection says
//!
//! It warns of the unique key of lives without the tenant (`PG023`): a life is random and can't be tried, and the key is what
//! keeps a life that was dropped before it wrote from being entered.
//!
//! # Dropping a life
//!
//! A role of its own deletes the points and closes the life in the second table; a process that only serves has no login of
//! it ([`PgVectorBackend::erasing_as`]). The server does not close one while a point
//! is left, and takes no point of one that is closed: a late writer is refused, in whichever process and for good. The verdict
//! rests on two counts, one of them by a scan that asks no index. It says nothing of files: deleted rows are in them until
//! `VACUUM FULL`, and in write-ahead logs and backups for longer.
//!
//! Both tables are tenant tables, so [`PgEraser`](tenancy_pg::PgEraser) empties them too, and then it is the key to the
//! registry that refuses late writers. The two may come in any order: where the tables refer to a registry and the role that
//! drops lives may read it ([`registry_sql`](PgVectorTables::registry_sql)), this store sees there that the life was let go, and
//! counts its points all the same. Without that right it can't tell once the other was first
//! ([`Unverifiable`](tenancy_core::StoreVerdict::Unverifiable)).
//!
//! # Shared corpora
//!
//! What all tenants read has tables of its own ([`PgCorpusTables`], [`PgCorpusBackend`]), so that no index of it tells of any
//! tenant and no tenant's right opens it. The service's role may read them where a tenant is in scope. Another role writes
//! them, in the process that publishes, and reaches nothing else: not a tenant's row, and no other corpus than the one that
//! is being published. [`prepare`](crate::SharedVectors::prepare) looks at all of that in the catalog.
//!
//! ```no_run
//! # async fn run(
//! #     realm: &tenancy_core::Realm,
//! #     ctx: &tenancy_core::TenantContext,
//! #     grant: &tenancy_core::CrossTenantGrant,
//! #     edition: Vec<tenancy_vector::Point>,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! use tenancy_core::CorpusName;
//! use tenancy_pg::{Database, Declaration, PgOptions, RowKeyType, TenantTable};
//! use tenancy_vector::pgvector::{PgCorpusBackend, PgCorpusTables};
//! use tenancy_vector::{Schema, SharedVectors, VectorQuery};
//!
//! let schema = Schema::hybrid(768)?;
//! let tables = PgCorpusTables::new("public", "statute", &schema)?;
//! let declaration = Declaration::builder()
//!     .tenant_table(TenantTable::new("public", "note", "tenant_id", RowKeyType::Uuid)?)
//!     .global_table("public", "statute")
//!     .build()?;
//! // The owner has run `tables.migration_sql(&declaration, "app", "vector_publisher")`.
//! let database = Database::open(realm, PgOptions::new("postgres://app@db.internal/rag".parse()?), &declaration).await?;
//! let backend = PgCorpusBackend::new(database, tables)?
//!     .publishing_as("postgres://vector_publisher@db.internal/rag".parse()?); // only where something is published
//!
//! let statutes = SharedVectors::new(realm, &CorpusName::parse("statutes")?, backend, schema);
//! statutes.prepare().await?;
//! statutes.publish(grant).await?.upsert(edition).await?;
//! let hits = statutes.scoped(ctx)?.query(&VectorQuery::dense(vec![0.1; 768])?).await?;
//! # let _ = hits;
//! # Ok(())
//! # }
//! ```
//!
//! # What a dropped future does
//!
//! The handle's writes run in tasks of their own and go on. A read that is dropped ends its transaction, and its connection
//! reaches another tenant only once it was shown to be clean. A drop or a verification that is dropped closes its connection:
//! portions that were deleted stay deleted, the life stays open until a later call closes it.

mod backend;
mod change;
mod columns;
mod corpora;
mod drift;
mod erase;
mod error;
mod filter;
mod gather;
mod json;
mod key;
mod login;
mod pair;
mod policies;
mod reach;
mod reads;
mod registry;
mod rights;
mod rows;
mod session;
mod tables;
mod tiers;
mod unfit;
mod write;

// The public interface is:
pub use backend::PgVectorBackend;
pub use corpora::{PgCorpusBackend, PgCorpusTables};
pub use error::PgVectorError;
pub use tables::PgVectorTables;
pub use tiers::PgTiers;
