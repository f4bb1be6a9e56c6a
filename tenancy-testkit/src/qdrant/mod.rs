//! A Qdrant server for tests, that speaks its protocol on a port of the loopback.
//!
//! # What it is
//!
//! The services that `qdrant-client` declares, each served by the real engine (`qdrant-edge`): one shard, in a directory
//! that goes with the server, for each collection and shard key. Where isolation is at stake it does what a server does:
//!
//! - a read by id asks nobody whose point it is, and so does a point given as an example;
//! - an upsert without `update_filter` takes the place of whatever has the id;
//! - the filter at the root is added to that of each prefetch, as the engine adds it;
//! - a list of no conditions matches everything, and a condition of no kind is left out;
//! - terms are weighed over `params.idf.corpus`, and over *everybody's* points where a request names none, so that a
//!   forgotten corpus shows in the scores;
//! - a field that came after the version of [`QdrantServer::set_version`] is dropped without a word.
//!
//! Every request is kept ([`QdrantServer::requests`]), and a test can make any call fail ([`QdrantServer::fail`]).
//!
//! # What it is not
//!
//! It is no cluster: no replicas, no consistency (`ordering` and `read_consistency` are taken and change nothing), no
//! transfers; a shard key has one shard, whose state is what `CreateShardKey` said. It serves the methods in [`SERVED`]
//! and answers UNIMPLEMENTED to the others. No index for vectors is ever built: every search is exact, and quantisation,
//! HNSW and storage options are kept, reported and used by nothing. It knows no aliases, snapshots, groups, matrices,
//! inference, looking up in other collections, strict mode, limits or timeouts. A query with prefetches, by ranks, or by a
//! formula is served over one shard key at a time. Deleted points are not counted in the weights of terms; a server counts
//! them until it has cleaned up. With MMR over weighed sparse vectors the similarity to the query is weighed too.
//!
//! The versions at which fields appeared are from the change log of Qdrant; fields older than 1.13 are never dropped.

mod collections;
mod convert;
mod fault;
mod query;
mod rarity;
mod reads;
mod record;
mod server;
mod service;
mod store;
mod version;
mod writes;

pub use fault::WireFault;
pub use record::WireRequest;
pub use server::QdrantServer;
pub use service::{REFUSED, SERVED};
