//! Does a tenant lose anything by having a neighbour? Its labelled questions, asked beside the neighbour and alone.

use indicatif::{ProgressBar, ProgressStyle};
use rag_backend::{Answer, Citation};

use crate::Failure;
use crate::args::Corpus;
use crate::world::World;

/// What came of one tenant's questions.
pub(crate) struct Quality {
    pub(crate) tenant: String,
    pub(crate) questions: usize,
    /// How often the labelled document was among the five cited ones, beside the neighbour and alone.
    pub(crate) hits: (usize, usize),
    /// How often the labelled passage was cited, beside the neighbour and alone.
    pub(crate) passages: (usize, usize),
    /// Citations that are no passage of the tenant's own files.
    pub(crate) foreign: usize,
    /// Questions whose citations differ from the run alone.
    pub(crate) different: usize,
}

impl Quality {
    /// Nothing foreign, and nothing lost by having a neighbour.
    pub(crate) const fn passed(&self) -> bool {
        self.foreign == 0 && self.different == 0 && self.questions > 0
    }
}

/// Ingests every document of every corpus through the service, as its users would. Returns how many.
pub(crate) async fn ingest(world: &World, corpora: &[Corpus], quiet: bool) -> Result<usize, Failure> {
    let total: usize = corpora.iter().map(|corpus| corpus.documents.len()).sum();
    let progress = if quiet { ProgressBar::hidden() } else { ProgressBar::new(total as u64) };
    progress.set_style(ProgressStyle::with_template("ingesting {bar:40} {pos}/{len} {msg}")?);
    for corpus in corpora {
        let client = world.login(&corpus.tenant).await?;
        progress.set_message(corpus.tenant.clone());
        for document in &corpus.documents {
            client.ingest(&document.id, &document.title, &document.text).await?;
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    Ok(total)
}

/// Asks every labelled question and returns what was cited, in order.
pub(crate) async fn ask_all(world: &World, corpus: &Corpus) -> Result<Vec<Vec<Citation>>, Failure> {
    let client = world.login(&corpus.tenant).await?;
    let mut cited = Vec::new();
    for question in &corpus.questions {
        let reply = client.ask(&question.text).await?;
        if reply.status != 200 {
            return Err(format!("a question of {} was answered with {}", corpus.tenant, reply.status).into());
        }
        let answer: Answer = serde_json::from_str(&reply.body)?;
        cited.push(answer.citations);
    }
    Ok(cited)
}

/// Counts hits and holds every citation against the tenant's own files, word for word.
pub(crate) fn compare(corpus: &Corpus, beside: &[Vec<Citation>], alone: &[Vec<Citation>]) -> Quality {
    let hit = |(question, cited): (&crate::args::Question, &Vec<Citation>)| {
        cited.iter().any(|c| c.document == question.document)
    };
    let right = |(question, cited): (&crate::args::Question, &Vec<Citation>)| {
        cited.iter().any(|c| c.document == question.document && c.passage.contains(&question.passage))
    };
    let count = |cited: &[Vec<Citation>]| {
        let pairs = || corpus.questions.iter().zip(cited);
        (pairs().filter(|pair| hit(*pair)).count(), pairs().filter(|pair| right(*pair)).count())
    };
    let own = |c: &Citation| corpus.documents.iter().any(|d| d.id == c.document && d.text.contains(&c.passage));
    let ((hits, passages), (hits_alone, passages_alone)) = (count(beside), count(alone));
    Quality {
        tenant: corpus.tenant.clone(),
        questions: corpus.questions.len(),
        hits: (hits, hits_alone),
        passages: (passages, passages_alone),
        foreign: beside.iter().flatten().filter(|c| !own(c)).count(),
        different: beside.iter().zip(alone).filter(|(a, b)| a != b).count(),
    }
}
