//! What every back end must do, as checks to run from its tests, and a back end that does it plainly.
//!
//! # How do I check a back end of my own?
//!
//! With two tenants that have no points in it, in a test of your own:
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use tenancy_vector::conformance::{self, ReferenceBackend};
//!
//! let tenants = tenancy_testkit::TestTenants::new().await;
//! let (one, two) = (tenants.context("acme").await, tenants.context("globex").await);
//! conformance::run(tenants.realm(), ReferenceBackend::new(), &one, &two).await.unwrap();
//! # });
//! ```
//!
//! A back end whose tables or collections somebody makes beforehand has them made for [`schema`]. One that is slow runs the
//! checks one by one ([`Check::run`]), each with contexts that are fresh. The first rule that does not hold ends the run; the
//! error says which check it was, what was asked, and how far off the answer was. What the engine said is withheld there as
//! everywhere: a back end that can put it into words of its own says
//! [`BackendError::because`](crate::BackendError::because).
//!
//! # What is checked
//!
//! In this order, and compared with [`ReferenceBackend`], which looks at every point:
//!
//! | check | what it asks |
//! |---|---|
//! | `prepare` | that it can be done twice |
//! | `empty_partitions` | every read and some changes, where nobody wrote |
//! | `ranking` | hits, scores, payloads and order: each kind of vector and of query, each kind of filter, limits, thresholds, ties |
//! | `batches` | several queries in one call, each in its place |
//! | `counts` | how many points meet each kind of filter |
//! | `facets` | values and how often they are there, with filters and limits |
//! | `pages` | every point once, page by page, by id and by a value, with filters, payloads and vectors |
//! | `lookups` | points by id, with their vectors and without; hits with their vectors |
//! | `samples` | points by chance, as many as asked for, and how near they are to each other |
//! | `changes` | each kind of change, by ids, by a filter and of all, alone and several in their order; a neighbour with the same ids keeps its points |
//! | `large_partitions` | more than a thousand points in one write, on a page, in a look-up and in a deletion |
//! | `separation` | that two tenants with the same ids have points of their own |
//! | `replacing` | that nothing of a point is left when it is written again |
//! | `other_schemas` | that a partition refuses points of another schema |
//! | `vacating` | that a place is only given up when nothing is in it, and comes back |
//! | `engine_ids` | that two points with one engine id are told apart, in any kind of write |
//! | `life_condition` | that a point of another life in one's own partition is not seen, changed or deleted, in any call |
//! | `dropping` | that a dropped partition is gone for good, whatever the back end says of it, and no other with it |
//!
//! [`shared_corpus`] is for a back end of a corpus that all tenants read.
//!
//! # What it does not prove
//!
//! - Anything about calls at the same time, calls that are dropped, and failures in the middle of a write.
//! - That a write is still there after a crash, and a dropped partition gone from files, logs and backups.
//! - That a point of another life keeps its vectors and its payload where its own life does not see it either, in a place
//!   or in rows of one's own. That it stays, and does not become one's own, is asked there too.
//! - That an approximate index finds everything: forty points are few, and an engine looks at each of them.
//! - How long anything takes, and what that tells.

mod beside;
mod changes;
mod corpus;
#[cfg(test)]
mod lies;
mod lives;
mod questions;
mod ranking;
mod reads;
mod reference;
mod shared;
mod trial;

use std::fmt;
use std::sync::Arc;

use tenancy_core::{Realm, TenantContext};

pub use corpus::schema;
pub use reference::ReferenceBackend;
pub use shared::shared_corpus;

use crate::backend::VectorBackend;
use crate::error::VectorError;
use trial::{Fault, Trial};

/// Runs every check, in an order that ends with the partition of the second context dropped for good.
///
/// The contexts are of two tenants of the realm without points in the back end. Whether it passes, is dropped or ends in
/// an error, points stay behind: use other tenants for the next run.
///
/// # Errors
/// The first rule that does not hold, or a call that failed.
pub async fn run(
    realm: &Realm,
    backend: impl VectorBackend,
    one: &TenantContext,
    two: &TenantContext,
) -> Result<(), Nonconformance> {
    let backend: Arc<dyn VectorBackend> = Arc::new(backend);
    for check in Check::ALL {
        check.run(realm, &backend, one, two).await?;
    }
    Ok(())
}

/// A part of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Check {
    /// That a back end can be prepared twice.
    Prepare,
    /// Every read and some changes, where nobody wrote.
    EmptyPartitions,
    /// Hits, scores, payloads and order: each kind of vector and of query, each kind of filter, limits, thresholds, ties.
    Ranking,
    /// Several queries in one call, each in its place.
    Batches,
    /// How many points meet each kind of filter.
    Counts,
    /// Values and how often they are there, with filters and limits.
    Facets,
    /// Every point once, page by page, by id and by a value, with filters, payloads and vectors.
    Pages,
    /// Points by id, with their vectors and without; hits with their vectors.
    Lookups,
    /// Points by chance, as many as asked for, and how near they are to each other.
    Samples,
    /// Each kind of change, by ids, by a filter and of all, alone and several in their order; a neighbour with the same ids
    /// keeps its points.
    Changes,
    /// More than a thousand points in one write, on a page, in a look-up and in a deletion.
    LargePartitions,
    /// That two tenants with the same ids have points of their own.
    Separation,
    /// That nothing of a point is left when it is written again.
    Replacing,
    /// That a partition refuses points of another schema.
    OtherSchemas,
    /// That two points with one engine id are told apart, in any kind of write.
    EngineIds,
    /// That a point of another life in one's own partition is not seen, changed or deleted, in any call.
    LifeCondition,
    /// That a place is only given up when nothing is in it, and comes back.
    Vacating,
    /// That a dropped partition is gone for good, whatever the back end says of it, and no other with it.
    Dropping,
}

impl Check {
    /// All, in the order in which they are to be run on the partitions of two tenants: engines go on counting the terms of
    /// deleted points for a while, so the ranking comes before anything is deleted; what stays behind comes last.
    pub const ALL: &[Self] = &[
        Self::Prepare,
        Self::EmptyPartitions,
        Self::Ranking,
        Self::Batches,
        Self::Counts,
        Self::Facets,
        Self::Pages,
        Self::Lookups,
        Self::Samples,
        Self::Changes,
        Self::LargePartitions,
        Self::Separation,
        Self::Replacing,
        Self::OtherSchemas,
        Self::Vacating,
        Self::EngineIds,
        Self::LifeCondition,
        Self::Dropping,
    ];

    /// Its name, as in the table of the [module](self).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::EmptyPartitions => "empty_partitions",
            Self::Ranking => "ranking",
            Self::Batches => "batches",
            Self::Counts => "counts",
            Self::Facets => "facets",
            Self::Pages => "pages",
            Self::Lookups => "lookups",
            Self::Samples => "samples",
            Self::Changes => "changes",
            Self::LargePartitions => "large_partitions",
            Self::Separation => "separation",
            Self::Replacing => "replacing",
            Self::OtherSchemas => "other_schemas",
            Self::EngineIds => "engine_ids",
            Self::LifeCondition => "life_condition",
            Self::Vacating => "vacating",
            Self::Dropping => "dropping",
        }
    }

    /// Runs it, on a back end that was prepared for [`schema`]. Dropped, or ended by an error, it leaves points behind: use
    /// other tenants for the next run.
    ///
    /// # Errors
    /// The first rule that does not hold, or a call that failed.
    pub async fn run(
        self,
        realm: &Realm,
        backend: &Arc<dyn VectorBackend>,
        one: &TenantContext,
        two: &TenantContext,
    ) -> Result<(), Nonconformance> {
        let mut trial = Trial { realm, backend, one, two, asked: "nothing yet".to_owned() };
        // What is kept apart of one tenant and itself shows nothing.
        if one.life() == two.life() {
            let fault = Fault::Broken { rule: "the two contexts are of two tenants", differs: None };
            return Err(fault.within(self.name(), trial.asked));
        }
        let done = match self {
            Self::Prepare => lives::prepare(&mut trial).await,
            Self::EmptyPartitions => reads::empty_partitions(&mut trial).await,
            Self::Ranking => ranking::ranking(&mut trial).await,
            Self::Batches => ranking::batches(&mut trial).await,
            Self::Counts => reads::counts(&mut trial).await,
            Self::Facets => reads::facets(&mut trial).await,
            Self::Pages => reads::pages(&mut trial).await,
            Self::Lookups => reads::lookups(&mut trial).await,
            Self::Samples => reads::samples(&mut trial).await,
            Self::Changes => changes::changes(&mut trial).await,
            Self::LargePartitions => changes::large_partitions(&mut trial).await,
            Self::Separation => changes::separation(&mut trial).await,
            Self::Replacing => changes::replacing(&mut trial).await,
            Self::OtherSchemas => lives::other_schemas(&mut trial).await,
            Self::EngineIds => lives::engine_ids(&mut trial).await,
            Self::LifeCondition => lives::life_condition(&mut trial).await,
            Self::Vacating => lives::vacating(&mut trial).await,
            Self::Dropping => lives::dropping(&mut trial).await,
        };
        done.map_err(|fault| fault.within(self.name(), trial.asked))
    }
}

/// What a back end did not do. The texts are the suite's own: no tenant's data is in them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Nonconformance {
    /// A rule that does not hold.
    #[error("{check}: {rule}{} (asked: {asked})", Shown(differs.as_ref()))]
    #[non_exhaustive]
    Broken {
        /// The name of the check.
        check: &'static str,
        /// What must hold.
        rule: &'static str,
        /// What was asked last, in words.
        asked: String,
        /// How far off the answer was, where that is a number.
        differs: Option<Differs>,
    },
    /// A call that should have gone through.
    #[error("{check}: the call failed: {source} (asked: {asked})")]
    #[non_exhaustive]
    Failed {
        /// The name of the check.
        check: &'static str,
        /// What was asked last, in words.
        asked: String,
        /// Why it failed.
        source: VectorError,
    },
}

/// A number that was found in place of another.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Differs {
    /// The place in the list of answers, from 1, where it is one of a list.
    pub place: Option<usize>,
    /// What the back end answered.
    pub found: f64,
    /// What is right.
    pub wanted: f64,
}

struct Shown<'a>(Option<&'a Differs>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Differs { place, found, wanted }) = self.0 else { return Ok(()) };
        match place {
            Some(place) => write!(f, ": {found} instead of {wanted}, at place {place}"),
            None => write!(f, ": {found} instead of {wanted}"),
        }
    }
}
