//! Questions that were answered, as vectors.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tenancy_core::TenantContext;
use tenancy_vector::{
    Change, DenseVector, ExternalId, Filter, FilterValue, Hit, IndexKind, PayloadKey, Point, Range, Schema, Select,
    TenantVectors, VectorError, VectorName, VectorQuery,
};
use uuid::Uuid;

use super::similarity::Similarity;
use crate::error::CacheError;
use crate::key::{Name, Within, within};
use crate::layer::Layer;

/// The questions of one context.
#[derive(Clone)]
pub(super) struct Questions {
    pub(super) points: TenantVectors,
    pub(super) dimensions: usize,
}

/// One question: what it is called among those of its namespace, and under which name its answer is.
#[derive(Clone)]
pub(super) struct Question {
    id: [u8; 32],
    pub(super) answer: Name,
}

/// Where questions are compared with each other: all that shapes their answers but their text, in one era.
#[derive(Clone)]
pub(super) struct Namespace(String);

/// A random word beside the answers of a frame. It is an entry like them, so it ends with a removal of it and with a flush,
/// for every process; and with it everything that was found by meaning.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Era([u64; 2]);

impl Era {
    pub(super) fn random() -> Self {
        let (high, low) = Uuid::new_v4().as_u64_pair();
        Self([high, low])
    }
}

impl Question {
    /// A text among those that share all other parts.
    pub(super) fn of(context: &TenantContext, frame: &Name, text: &str) -> Result<Self, CacheError> {
        Self::called(context, frame, *within(context, frame, Within::Question, text.as_bytes())?.as_bytes())
    }

    /// One that was found. An id that is of another frame names no answer.
    fn called(context: &TenantContext, frame: &Name, id: [u8; 32]) -> Result<Self, CacheError> {
        Ok(Self { id, answer: Name::new(Layer::Semantic, within(context, frame, Within::Answer, &id)?) })
    }

    fn external_id(&self) -> Result<ExternalId, VectorError> {
        ExternalId::parse(&data_encoding::HEXLOWER.encode(&self.id))
    }

    /// One in 64, the same ones again and again.
    const fn clears_up(&self) -> bool {
        self.id[0] < 4
    }
}

impl Namespace {
    pub(super) fn of(context: &TenantContext, frame: &Name, Era([high, low]): Era) -> Result<Self, CacheError> {
        let era = Uuid::from_u64_pair(high, low);
        let digest = within(context, frame, Within::Namespace, era.as_bytes())?;
        Ok(Self(data_encoding::HEXLOWER.encode(digest.as_bytes())))
    }

    fn filter(&self) -> Result<Filter, VectorError> {
        Ok(Filter::Equals(namespace_key()?, FilterValue::Text(self.0.clone())))
    }
}

impl Questions {
    /// A vector of the model's dimension, of finite numbers that are not all zero.
    pub(super) fn ensure_vector(&self, vector: &[f32], dimensions: u32) -> Result<(), CacheError> {
        let is_model_s = vector.len() == self.dimensions && vector.len() as u64 == u64::from(dimensions);
        // Engines reckon in single precision.
        let is_direction = vector.iter().map(|x| x * x).sum::<f32>().is_normal();
        if is_model_s && is_direction { Ok(()) } else { Err(CacheError::Vector) }
    }

    /// The questions of the namespace that are nearly alike enough, the most alike first. What an index answers of another
    /// does not meet the filter, and is left out where hits are checked.
    pub(super) async fn alike(
        &self,
        context: &TenantContext,
        frame: &Name,
        namespace: &Namespace,
        (vector, least): (&[f32], Similarity),
    ) -> Result<Vec<Question>, CacheError> {
        let alive = Filter::Within(expires_key()?, Range::new(seconds(context.now())..)?);
        let query = VectorQuery::dense(vector.to_vec())?
            .filter(Filter::All(vec![namespace.filter()?, alive]))?
            .score_threshold(least.cosine() - ROUNDED)?
            .limit(CANDIDATES)?;
        let hits = self.points.query(&query).await?;
        hits.iter().filter_map(id_of).map(|id| Question::called(context, frame, id)).collect()
    }

    /// Keeps a question for as long as its answer.
    pub(super) async fn keep(
        &self,
        context: &TenantContext,
        namespace: &Namespace,
        (question, vector): (&Question, &[f32]),
        ttl: Duration,
    ) -> Result<(), CacheError> {
        let payload = Map::from_iter([
            (NAMESPACE.to_owned(), Value::from(namespace.0.as_str())),
            (EXPIRES.to_owned(), Value::from(seconds(context.now() + ttl))),
        ]);
        let point =
            Point::new(question.external_id()?, payload)?.with(VectorName::dense(), DenseVector::new(vector.to_vec())?);
        self.points.upsert(vec![point]).await?;
        if question.clears_up() {
            let over = Filter::Within(expires_key()?, Range::new(..seconds(context.now()))?);
            let is_question = Filter::IsEmpty(namespace_key()?).not();
            self.points.change(vec![Change::Delete(Select::Matching(Filter::All(vec![is_question, over])))]).await?;
        }
        Ok(())
    }

    pub(super) async fn forget(&self, questions: &[Question]) -> Result<(), CacheError> {
        let ids = questions.iter().map(Question::external_id).collect::<Result<Vec<_>, _>>()?;
        Ok(self.points.change(vec![Change::Delete(Select::Ids(ids))]).await?)
    }
}

/// A point of a life for each question that was answered; what is asked for of it is filtered by the engine.
pub(super) fn schema(dimensions: usize) -> Result<Schema, VectorError> {
    let schema = Schema::dense(dimensions)?;
    Ok(schema.index(namespace_key()?, IndexKind::Keyword).index(expires_key()?, IndexKind::Float))
}

fn id_of(hit: &Hit) -> Option<[u8; 32]> {
    data_encoding::HEXLOWER.decode(hit.id().as_str().as_bytes()).ok()?.try_into().ok()
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

fn namespace_key() -> Result<PayloadKey, VectorError> {
    PayloadKey::parse(NAMESPACE)
}

fn expires_key() -> Result<PayloadKey, VectorError> {
    PayloadKey::parse(EXPIRES)
}

const NAMESPACE: &str = "question_namespace";
const EXPIRES: &str = "question_expires";

/// By how much an engine's cosine may be off.
const ROUNDED: f32 = 1e-3;

/// Of how many questions the answer is looked for. Nearer ones may be removed, or driven out.
const CANDIDATES: usize = 4;
