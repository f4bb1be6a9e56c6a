//! What neighbours with the same words, names and dates do to a tenant's answers: nothing.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

#[path = "corpora.rs"]
mod corpora;

use std::collections::BTreeSet;

use serde_json::json;
use tenancy_testkit::TestTenants;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::{Change, DenseVector, Hit, Point, Select, TenantVectors, VectorName, VectorQuery, VectorStore};

pub(crate) use self::corpora::schema;
use self::corpora::{CORPORA, DIMENSION, DOCUMENTS, QUESTIONS, document, questions};
use crate::cases::{id, object, of};

const TOP: usize = 10;

/// Retrieval pivots: of ordinary questions, none brings up a neighbour's document, none misses one of its own, while
/// almost each does where nothing is scoped.
pub(crate) async fn ordinary_questions_bring_up_ones_own(tenants: &TestTenants, store: &VectorStore) {
    for corpus in CORPORA {
        let (mine, theirs) = (of(tenants, store, "acme").await, of(tenants, store, "globex").await);
        let plain = VectorStore::new(tenants.realm(), ReferenceBackend::new(), schema());
        let alone = of(tenants, &plain, "acme").await;
        let mixed = VectorStore::new(tenants.realm(), ReferenceBackend::new(), schema());
        let mixed = of(tenants, &mixed, "acme").await;
        for (tenants, owner, from) in
            [([&mine, &alone, &mixed].as_slice(), "acme", 0), (&[&theirs, &mixed], "globex", 61)]
        {
            let points: Vec<_> = (0..DOCUMENTS)
                .map(|n| document(&format!("{owner}:{n}"), owner, &(corpus.documents)(n + from)))
                .collect();
            for tenant in tenants {
                tenant.upsert(points.clone()).await.unwrap();
            }
        }
        let (mut pivots, mut asked) = (0, 0);
        for n in 0..QUESTIONS {
            let text = (corpus.questions)(n);
            for (kind, question) in questions(&text).into_iter().enumerate() {
                let question = question.limit(TOP).unwrap();
                let found = mine.query(&question).await.unwrap();
                let at = format!("{}: {text}: {question:?}", corpus.name);
                assert!(owners(&found) == BTreeSet::from(["acme".to_owned()]), "{at}");
                // By score: which of several with one score come within the limit is the engine's choice, and so are the
                // ranks that are fused.
                let wanted = alone.query(&question).await.unwrap();
                assert_eq!(found.len(), wanted.len(), "{at}");
                let near = |(a, b): (&Hit, &Hit)| (a.score() - b.score()).abs() < 1e-4;
                assert!(kind == 2 || found.iter().zip(&wanted).all(near), "full recall: {at}");
                pivots += usize::from(owners(&mixed.query(&question).await.unwrap()).len() > 1);
                asked += 1;
            }
        }
        println!("{}: of {asked} questions 0 pivots, {pivots} where nothing is scoped", corpus.name);
        assert!(asked >= 350 && pivots * 10 > asked * 8, "{}: the twin shows what is kept out: {pivots}", corpus.name);
        clear(&mine).await;
        clear(&theirs).await;
    }
}

fn owners(hits: &[Hit]) -> BTreeSet<String> {
    hits.iter().map(|hit| hit.payload()["owner"].as_str().unwrap().to_owned()).collect()
}

/// Scores are equal to the bit before, while and after a neighbour writes and deletes documents of the same words.
pub(crate) async fn scores_do_not_move(tenants: &TestTenants, store: &VectorStore, documents: usize) {
    let (mine, theirs) = (of(tenants, store, "acme").await, of(tenants, store, "globex").await);
    let text = CORPORA[0].documents;
    mine.upsert((0..DOCUMENTS).map(|n| document(&format!("doc:{n}"), "acme", &text(n))).collect()).await.unwrap();
    let before = answers(&mine).await;

    let writing = tokio::spawn(async move {
        let names: Vec<_> = (0..documents).map(|n| format!("doc:{n}")).collect();
        for (turn, names) in names.chunks(250).enumerate() {
            let points = names.iter().enumerate().map(|(n, name)| document(name, "globex", &text(turn + n * 7)));
            theirs.upsert(points.collect()).await.unwrap();
            let half: Vec<_> = names.iter().step_by(2).map(|name| id(name)).collect();
            assert_eq!(theirs.delete(&half).await.unwrap().not_visible(), 0);
        }
        theirs.change(vec![Change::Delete(Select::All)]).await.unwrap();
        theirs
    });
    let mut rounds = 0;
    while !writing.is_finished() {
        assert_eq!(answers(&mine).await, before, "while the neighbour writes, round {rounds}");
        rounds += 1;
    }
    assert!(rounds > 0);
    let theirs = writing.await.unwrap();
    assert_eq!(theirs.count(None).await.unwrap(), 0);
    assert_eq!(answers(&mine).await, before, "after {rounds} rounds");

    mine.upsert(vec![document("one more", "acme", &text(3))]).await.unwrap();
    assert_ne!(answers(&mine).await, before, "one's own document is seen");
    clear(&mine).await;
}

/// Every score to the bit, with its document.
async fn answers(mine: &TenantVectors) -> Vec<(String, u32)> {
    let questions: Vec<_> = (0..12)
        .flat_map(|n| questions(&(CORPORA[0].questions)(n)))
        .map(|question| question.limit(DOCUMENTS + 1).unwrap())
        .collect();
    let mut answers = Vec::new();
    for batch in questions.chunks(9) {
        let hits = mine.query_batch(batch).await.unwrap().into_iter().flatten();
        answers.extend(hits.map(|hit| (hit.id().as_str().to_owned(), hit.score().to_bits())));
    }
    answers
}

async fn clear(tenant: &TenantVectors) {
    tenant.change(vec![Change::Delete(Select::All)]).await.unwrap();
    assert_eq!(tenant.count(None).await.unwrap(), 0);
}

/// V11: as many tenants as are asked for, their chunks around one place: each finds all of its own, and a search that
/// filters afterwards finds next to nothing.
pub(crate) async fn neighbours_thin_out_nothing(tenants: &TestTenants, store: &VectorStore, names: &[String]) {
    for (mechanism, chunks, top, spread) in [
        ("fewer chunks than are asked for", 20, 50, 0.5),
        ("more", 60, 50, 0.5),
        ("one", 1, 50, 0.5),
        ("the best alone", 20, 1, 0.5),
        ("all at one place: they tie with everybody's", 20, 50, 0.0),
        ("far apart", 20, 50, 8.0),
    ] {
        let vector = |tenant: usize, chunk: usize| {
            let turn = |n: usize| ((tenant * 131 + chunk * 17 + n * 7919) % 1009) as f32 / 1009.0 - 0.5;
            (0..DIMENSION).map(|n| 1.0 + spread * turn(n)).collect::<Vec<f32>>()
        };
        for (tenant, name) in names.iter().enumerate() {
            let points = (0..chunks).map(|chunk| {
                let payload = object(json!({ "owner": name }));
                let dense = DenseVector::new(vector(tenant, chunk)).unwrap();
                Point::new(id(&format!("chunk:{chunk}")), payload).unwrap().with(VectorName::dense(), dense)
            });
            of(tenants, store, name).await.upsert(points.collect()).await.unwrap();
        }
        let question = vec![1.0; DIMENSION];
        let cosine = |vector: &[f32]| {
            let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt() * (DIMENSION as f32).sqrt();
            vector.iter().sum::<f32>() / norm
        };
        let ranked = |owners: &[usize]| {
            let all = owners.iter().flat_map(|tenant| (0..chunks).map(move |chunk| (*tenant, chunk)));
            let mut all: Vec<_> = all.map(|(tenant, chunk)| (cosine(&vector(tenant, chunk)), tenant)).collect();
            all.sort_by(|one, other| other.0.total_cmp(&one.0));
            all.truncate(top);
            all
        };
        let everybodys = ranked(&(0..names.len()).collect::<Vec<_>>());
        let (mut left, mut wanted) = (0, 0);
        for (tenant, name) in names.iter().enumerate().step_by(names.len().div_ceil(25)) {
            let query = VectorQuery::dense(question.clone()).unwrap().limit(top).unwrap();
            let found = of(tenants, store, name).await.query(&query).await.unwrap();
            let exact = ranked(&[tenant]);
            assert_eq!(found.len(), exact.len(), "{name}: {mechanism}");
            assert_eq!(owners(&found), BTreeSet::from([name.clone()]), "{mechanism}");
            let near = |(hit, exact): (&Hit, &(f32, usize))| (hit.score() - exact.0).abs() < 1e-4;
            assert!(found.iter().zip(&exact).all(near), "full recall: {name}: {mechanism}");
            left += everybodys.iter().filter(|(_, owner)| *owner == tenant).count();
            wanted += exact.len();
        }
        println!("{} tenants, {mechanism}: recall 1, filtered afterwards {left} of {wanted}", names.len());
        // With one chunk each, half of a hundred tenants are among the best fifty of all.
        let few = names.len() < 100 || chunks == 1;
        assert!(few || left * 10 < wanted, "the twin shows what is kept out: {left} of {wanted}");
        for name in names {
            of(tenants, store, name).await.change(vec![Change::Delete(Select::All)]).await.unwrap();
        }
    }
}
