//! Are the caches of use? Each tenant asks again, in the same words and in others, and works on a task twice.

use rag_backend::Answer;
use serde_json::json;
use tenancy_stack::cache::{CacheStats, Layer, LayerStats};

use crate::Failure;
use crate::args::Corpus;
use crate::client::{Client, Reply};
use crate::world::World;

/// What came of it: how often an answer was another one the second time, and what each layer counted.
pub(crate) struct Warmth {
    pub(crate) asked: usize,
    pub(crate) different: usize,
    stats: CacheStats,
}

impl Warmth {
    /// Every layer was of use, nothing in it was spoilt, and no answer changed by it.
    pub(crate) fn passed(&self) -> bool {
        self.asked > 0
            && self.different == 0
            && self.layers().all(|(_, counted)| counted.hits > 0 && counted.integrity_misses == 0)
    }

    pub(crate) fn layers(&self) -> impl Iterator<Item = (&'static str, LayerStats)> {
        Layer::ALL.into_iter().map(|layer| (layer.name(), self.stats.of(layer)))
    }
}

/// Asks what was asked before, by all tenants in turn.
pub(crate) async fn ask_again(world: &World, corpora: &[Corpus]) -> Result<Warmth, Failure> {
    let (mut asked, mut different) = (0, 0);
    for corpus in corpora {
        let client = world.login(&corpus.tenant).await?;
        for question in &corpus.questions {
            let first = answer(&client, &question.text).await?;
            for text in [question.text.clone(), without_mark(&question.text)] {
                asked += 1;
                different += usize::from(answer(&client, &text).await?.answer != first.answer);
            }
            let task = json!({ "task": question.text });
            different += usize::from(!is_the_same_twice(async || client.post("/assist", &task).await).await?);
            let search = json!({ "query": question.text }).to_string();
            let search = async || client.post_text("/tools/search_documents", &search).await;
            different += usize::from(!is_the_same_twice(search).await?);
        }
    }
    Ok(Warmth { asked, different, stats: world.cached() })
}

async fn answer(client: &Client, question: &str) -> Result<Answer, Failure> {
    let reply = client.ask(question).await?;
    if reply.status != 200 {
        return Err(format!("a question was answered with {}", reply.status).into());
    }
    Ok(serde_json::from_str(&reply.body)?)
}

async fn is_the_same_twice(ask: impl AsyncFn() -> Result<Reply, Failure>) -> Result<bool, Failure> {
    let (first, second) = (ask().await?, ask().await?);
    Ok(first == second && first.status == 200)
}

/// The question as somebody in a hurry asks it.
fn without_mark(question: &str) -> String {
    question.trim_end_matches(['?', '.', ' ']).to_owned()
}
