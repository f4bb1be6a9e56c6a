//! Asking: find passages, check them against the documents, answer from them, and cite.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenancy_stack::cache::semantic::Similarity;
use tenancy_stack::cache::{CacheError, EmbeddingParts, EngineParts, ResponseParts, RetrievalParts, SemanticParts};
use tenancy_stack::chat::{ChatRequest, Message, ModelIdentity, Role, ToolChoice};
use tenancy_stack::vector::{SparseVector, VectorQuery};
use tenancy_stack::{TenantStores, Visibility, permission};

use crate::answer::{Step, prompt_of};
use crate::embed::word_weights;
use crate::error::ServiceError;
use crate::service::Service;

/// An answer with where it comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Answer {
    /// The answer.
    pub answer: String,
    /// The passages it was made from, best first.
    pub citations: Vec<Citation>,
    /// Whether the answer came out of the tenant's own cache.
    pub cached: bool,
}

/// A passage of a document of the tenant, word for word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Citation {
    /// The document.
    pub document: String,
    /// The passage.
    pub passage: String,
}

/// Answers a question from the tenant's documents.
///
/// Dropped half-way: nothing but cache entries of the tenant's own is left behind.
///
/// # Errors
/// [`Denial::PermissionMissing`](tenancy_stack::Denial::PermissionMissing), [`ServiceError::Invalid`] for an empty or
/// too long question, or what a store or service says.
pub(crate) async fn ask(service: &Service, mine: &TenantStores, question: &str) -> Result<Answer, ServiceError> {
    mine.context().authorize::<permission::UseModel>()?;
    if question.trim().is_empty() || question.len() > MAX_QUESTION {
        return Err(ServiceError::Invalid("a question has 1 to 4096 bytes"));
    }
    let vector = embed(service, mine, question, Visibility::Tenant).await?;
    let asked = AtomicBool::new(false);
    let compute = || answer(service, mine, question, &asked);
    // A question without a letter has no direction, and nothing is like it.
    let is_like_nothing = vector.iter().all(|x| *x == 0.0);
    let answered = match is_like_nothing {
        true => compute().await?,
        false => mine.semantic()?.get_or_try_compute(&alike(service, question), &vector, compute).await?,
    };
    let still = verified(mine, answered.citations.clone()).await?;
    // An answer whose sources went away behind the index' back is not given again.
    let Answered { answer, citations } = match still == answered.citations {
        true => answered,
        false => self::answer(service, mine, question, &asked).await?,
    };
    Ok(Answer { answer, citations, cached: !asked.into_inner() })
}

/// How alike two questions are that may have one answer. High: to most models a "not" makes little difference.
///
/// # Errors
/// None for what stands here.
pub fn alike_enough() -> Result<Similarity, CacheError> {
    Similarity::new(0.97)
}

/// An answer as it is kept.
#[derive(Clone, Serialize, Deserialize)]
struct Answered {
    answer: String,
    citations: Vec<Citation>,
}

/// Where questions are compared by meaning: the passages follow from the documents, whose version is in it.
fn alike(service: &Service, question: &str) -> SemanticParts {
    let chat = vec![Message::new(Role::System, prompt_of(&[])), Message::new(Role::User, question)];
    SemanticParts {
        chat: ChatRequest::new(service.answerer().model(), chat),
        endpoint: service.answerer().endpoint().to_owned(),
        inputs: vec![STRATEGY.into(), HITS.to_be_bytes().to_vec()],
        embedding: embedding_model(service),
        dimensions: service.embedder().dimension() as u32,
        instruction: None,
        corpora: Vec::new(),
        visibility: Visibility::Tenant,
    }
}

async fn answer(
    service: &Service,
    mine: &TenantStores,
    question: &str,
    asked: &AtomicBool,
) -> Result<Answered, ServiceError> {
    let citations = verified(mine, find(service, mine, question, HITS).await?).await?;
    let passages: Vec<_> = citations.iter().map(|c| (c.document.clone(), c.passage.clone())).collect();
    let mut chat = ChatRequest::new(
        service.answerer().model(),
        vec![Message::new(Role::System, prompt_of(&passages)), Message::new(Role::User, question)],
    );
    chat.tool_choice = ToolChoice::None;
    match step(service, mine, chat, asked).await? {
        Step::Answer(answer) => Ok(Answered { answer, citations }),
        Step::Call { .. } => Err(crate::http::UpstreamError::Answer.into()),
    }
}

/// A model's next step, from the tenant's cache or the engine, which is told by `asked`.
pub(crate) async fn step(
    service: &Service,
    mine: &TenantStores,
    chat: ChatRequest,
    asked: &AtomicBool,
) -> Result<Step, ServiceError> {
    let parts = ResponseParts {
        chat,
        endpoint: service.answerer().endpoint().to_owned(),
        inputs: Vec::new(),
        corpora: Vec::new(),
        visibility: Visibility::Tenant,
    };
    let caches = mine.caches()?;
    caches
        .response()
        .get_or_try_compute(&parts, || async {
            asked.store(true, Ordering::Relaxed);
            let engine = EngineParts { model: parts.chat.model.clone(), visibility: Visibility::Tenant };
            let salt = caches.engine_salt(&engine).await?;
            let reply = service.answerer().step(&parts.chat, &salt).await?;
            reply.cached_tokens.into_iter().for_each(|tokens| caches.count_engine(tokens));
            Ok(reply.step)
        })
        .await
}

/// Finds passages by meaning and by words at once, under one scope.
pub(crate) async fn find(
    service: &Service,
    mine: &TenantStores,
    query: &str,
    limit: u32,
) -> Result<Vec<Citation>, ServiceError> {
    let parts = RetrievalParts {
        query: query.to_owned(),
        filter: Vec::new(),
        strategy: STRATEGY.to_owned(),
        limit,
        model: embedding_model(service),
        corpora: Vec::new(),
        visibility: Visibility::Tenant,
    };
    mine.caches()?
        .retrieval()
        .get_or_try_compute(&parts, || async {
            let dense = embed(service, mine, query, Visibility::Tenant).await?;
            let (words, weights) = word_weights(query).into_iter().unzip();
            let search = VectorQuery::hybrid(dense, SparseVector::new(words, weights)?)?.limit(limit as usize)?;
            let hits = mine.vectors()?.query(&search).await?;
            let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
            let cite = |payload: &serde_json::Map<String, Value>| Citation {
                document: text(payload.get("document")),
                passage: text(payload.get("passage")),
            };
            Ok(hits.iter().map(|hit| cite(hit.payload())).collect())
        })
        .await
}

/// The vector of a text, from the tenant's cache or the embedder.
pub(crate) async fn embed(
    service: &Service,
    mine: &TenantStores,
    text: &str,
    visibility: Visibility,
) -> Result<Vec<f32>, ServiceError> {
    let embedder = service.embedder();
    let parts = EmbeddingParts {
        text: text.to_owned(),
        model: embedding_model(service),
        dimensions: embedder.dimension() as u32,
        instruction: None,
        visibility,
    };
    mine.caches()?
        .embedding()
        .get_or_try_compute(&parts, || async { embedder.embed(text).await.map_err(ServiceError::from) })
        .await
}

/// Keeps the passages that stand in a document of the tenant word for word: the index says where to look, the database
/// says what is there.
pub(crate) async fn verified(mine: &TenantStores, found: Vec<Citation>) -> Result<Vec<Citation>, ServiceError> {
    let ids: Vec<&str> = found.iter().map(|c| c.document.as_str()).collect();
    let documents: Vec<(String, String)> = sqlx::query_as("select id, body from documents where id = any($1)")
        .bind(ids)
        .fetch_all(&mine.database()?)
        .await?;
    let stands = |c: &Citation| documents.iter().any(|(id, body)| *id == c.document && body.contains(&c.passage));
    Ok(found.into_iter().filter(stands).collect())
}

fn embedding_model(service: &Service) -> ModelIdentity {
    let embedder = service.embedder();
    ModelIdentity { id: embedder.model().to_owned(), version: embedder.version().to_owned(), adapter: None }
}

const STRATEGY: &str = "hybrid-rrf";
const HITS: u32 = 5;
const MAX_QUESTION: usize = 4096;
