//! Retrieval pivots: ordinary questions of one tenant that bring up another's documents.

use serde::Serialize;
use tenancy_testkit::TestTenants;
use tenancy_vector::{Hit, TenantVectors, VectorStore};

use crate::corpora::{CORPORA, DOCUMENTS, QUESTIONS, document, questions, schema};
use crate::{edge, say, wire};

#[derive(Serialize)]
struct Pivots {
    corpus: &'static str,
    asked: usize,
    /// How many questions brought up a neighbour's document: on a server, in the embedded engine, and where both
    /// companies' documents are nobody's.
    server: usize,
    embedded: usize,
    unscoped: usize,
    /// Which part was found, on a server, of what a search finds that is alone. Of the searches whose scores are their
    /// own: those of a fusion are ranks, which several with one score have by chance.
    recall: f64,
}

pub(crate) async fn measure(url: &str) {
    let tenants = TestTenants::new().await;
    let mut all = Vec::new();
    for corpus in CORPORA {
        let store = async |name: &str| wire::store(url, &tenants, &format!("{name}-{}", corpus.name), schema()).await;
        let (wire, alone, mixed) = (store("pivots").await, store("alone").await, store("mixed").await);
        let root = tempfile::tempdir().unwrap();
        let edge = edge::store(root.path(), &tenants, schema());
        let of = async |store: &VectorStore, name| store.scoped(&tenants.context(name).await).unwrap();
        for (owner, from, stores) in [
            ("acme", 0, [of(&wire, "acme").await, of(&edge, "acme").await, of(&mixed, "acme").await]),
            // Where nothing is scoped all documents are of one tenant.
            ("globex", 61, [of(&wire, "globex").await, of(&edge, "globex").await, of(&mixed, "acme").await]),
        ] {
            let points: Vec<_> = (0..DOCUMENTS)
                .map(|n| document(&format!("{owner}:{n}"), owner, &(corpus.documents)(n + from)))
                .collect();
            for store in stores {
                store.upsert(points.clone()).await.unwrap();
            }
            if owner == "acme" {
                of(&alone, owner).await.upsert(points).await.unwrap();
            }
        }
        let (wire, edge) = (of(&wire, "acme").await, of(&edge, "acme").await);
        let (alone, mixed) = (of(&alone, "acme").await, of(&mixed, "acme").await);
        let mut pivots = Pivots { corpus: corpus.name, asked: 0, server: 0, embedded: 0, unscoped: 0, recall: 0.0 };
        let mut compared = 0.0;
        for number in 0..QUESTIONS {
            for (kind, question) in questions(&(corpus.questions)(number)).into_iter().enumerate() {
                let question = question.limit(TOP).unwrap();
                let ask = async |store: &TenantVectors| store.query(&question).await.unwrap();
                let (found, wanted) = (ask(&wire).await, ask(&alone).await);
                pivots.asked += 1;
                pivots.server += usize::from(is_pivot(&found));
                pivots.embedded += usize::from(is_pivot(&ask(&edge).await));
                pivots.unscoped += usize::from(is_pivot(&ask(&mixed).await));
                if kind < 2 {
                    let near = |(one, two): &(&Hit, &Hit)| (one.score() - two.score()).abs() < 1e-4;
                    pivots.recall += found.iter().zip(&wanted).filter(near).count() as f64 / wanted.len() as f64;
                    compared += 1.0;
                }
            }
        }
        pivots.recall /= compared;
        all.push(pivots);
    }
    say(&serde_json::to_string(&all).unwrap());
}

/// An answer without a hit would hide one: none of these questions has one.
fn is_pivot(hits: &[Hit]) -> bool {
    assert!(!hits.is_empty(), "each question has something to find");
    hits.iter().any(|hit| hit.payload()["owner"].as_str().unwrap() != "acme")
}

const TOP: usize = 10;
