//! What a back end of a shared corpus must do.

use std::sync::Arc;

use tenancy_core::{CorpusName, CrossTenantGrant, Realm, TenantContext};

use super::corpus::{self, Numbers, schema};
use super::trial::{Fault, ensure, equal};
use super::{Nonconformance, ReferenceBackend, questions, ranking};
use crate::backend::VectorBackend;
use crate::error::VectorError;
use crate::shared::SharedVectors;
use crate::tenant::{Change, Select};

/// A shared corpus is searched as a tenant's points are: hits, scores and order are those of an exhaustive search, for each
/// kind of query and with each kind of filter. Erased, it is empty, and takes nothing more.
///
/// The grant is for the corpus of this name, which has no points in the back end; it is erased at the end, for good.
///
/// # Errors
/// [`Nonconformance`], as of the check `shared_corpus`.
pub async fn shared_corpus(
    realm: &Realm,
    backend: &Arc<dyn VectorBackend>,
    name: &CorpusName,
    grant: &CrossTenantGrant,
    context: &TenantContext,
) -> Result<(), Nonconformance> {
    let mut asked = "to prepare".to_owned();
    let done = check(realm, backend, name, grant, context, &mut asked).await;
    done.map_err(|fault| fault.within("shared_corpus", asked))
}

async fn check(
    realm: &Realm,
    backend: &Arc<dyn VectorBackend>,
    name: &CorpusName,
    grant: &CrossTenantGrant,
    context: &TenantContext,
    asked: &mut String,
) -> Result<(), Fault> {
    let ours = SharedVectors::new(realm, name, Arc::clone(backend), schema()?);
    let exact = SharedVectors::new(realm, name, ReferenceBackend::new(), schema()?);
    ours.prepare().await?;
    let (read, all) = (ours.scoped(context)?, exact.scoped(context)?);
    "a count where nothing was published".clone_into(asked);
    equal(read.count(None).await?, 0, "an empty corpus counts no points")?;
    let mut numbers = Numbers::new(5);
    let points = corpus::points(&mut numbers)?;
    "an edition, published twice".clone_into(asked);
    let (writer, beside) = (ours.publish(grant).await?, exact.publish(grant).await?);
    beside.upsert(points.clone()).await?;
    for _again in 0..2 {
        writer.upsert(points.clone()).await?;
    }
    ranking::compare(asked, &read, &all, &questions::all(&mut numbers)?).await?;
    "a document taken away".clone_into(asked);
    writer.change(vec![Change::Delete(Select::Ids(vec![points[0].id().clone()]))]).await?;
    equal(read.count(None).await?, points.len() as u64 - 1, "a document is taken away")?;
    "to erase the corpus, twice".clone_into(asked);
    for _again in 0..2 {
        ensure(!writer.erase().await?.is_failed(), "nothing is found of an erased corpus")?;
    }
    let nothing = matches!(read.count(None).await, Ok(0) | Err(VectorError::CorpusErased));
    ensure(nothing, "an erased corpus is empty, or said to be erased")?;
    "to publish where the corpus was erased".clone_into(asked);
    let late = writer.upsert(points).await;
    ensure(matches!(late, Err(VectorError::CorpusErased)), "an erased corpus takes nothing more")
}
