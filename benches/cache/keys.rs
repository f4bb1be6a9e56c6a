//! A key of four kibibytes of parts: ours, the hash alone, and what is written by hand.

use std::hint::black_box;

use tenancy_cache::{Caches, EmbeddingParts, Layer, MemoryBackend, Moment, ResponseParts, derive};
use tenancy_core::chat::ModelIdentity;
use tenancy_core::{TenantContext, Visibility};
use tenancy_testkit::TestTenants;

use crate::parts::{by_hand, encoding, parts};
use crate::{Arc, Round, answer, commands, say};

/// What a key is made of.
struct Keys {
    context: TenantContext,
    moment: Moment,
    parts: ResponseParts,
    passage: EmbeddingParts,
    encoded: Vec<u8>,
}

/// `round WAY WORK ..`, as in benches/shared/rounds.rs, where the work is `response`, a conversation, or `embedding`, one text,
/// both of the same length as they are hashed. A call derives a thousand keys, so its microseconds are a key's
/// nanoseconds.
pub(crate) async fn measure() {
    let tenants = TestTenants::new().await;
    let caches = Caches::new(tenants.realm(), MemoryBackend::new());
    say("{}");
    let mut commands = commands();
    while let Some(line) = commands.recv().await {
        let mut words = line.split_whitespace();
        let (Some("round"), Some(way), Some(work)) = (words.next(), words.next(), words.next()) else {
            panic!("not a command: {line}");
        };
        let round = Round::parse(&mut words);
        // A context lives no longer than a request.
        let context = tenants.context("acme").await;
        let moment = caches.scoped(&context).unwrap().moment(Layer::Response, &[]).await.unwrap();
        let encoded = encoding(&context, &parts());
        assert!((4000..4608).contains(&encoded.len()), "four kibibytes: {}", encoded.len());
        let keys = Arc::new(Keys { context, moment, parts: parts(), passage: passage(encoded.len()), encoded });
        let (way, work) = (way.to_owned(), work.to_owned());
        let call = move |_, ()| {
            let (keys, way, work) = (keys.clone(), way.clone(), work.clone());
            async move { keys.thousand(&way, &work) }
        };
        say(&answer(&round.run(|_| async {}, call).await));
    }
}

impl Keys {
    fn thousand(&self, way: &str, work: &str) {
        let Self { context, moment, parts, passage, encoded } = self;
        for _ in 0..1_000 {
            match (way, work) {
                ("ours", "response") => _ = black_box(derive(black_box(context), moment, black_box(parts)).unwrap()),
                ("ours", "embedding") => _ = black_box(derive(black_box(context), moment, black_box(passage)).unwrap()),
                ("blake3", _) => _ = black_box(blake3::keyed_hash(&[7; 32], black_box(encoded))),
                ("json_sha256", "response") => _ = black_box(by_hand("acme", black_box(parts))),
                other => panic!("no such way: {other:?}"),
            }
        }
    }
}

/// A text that is embedded, so long that its parts are encoded to so many bytes.
fn passage(encoded: usize) -> EmbeddingParts {
    let model = ModelIdentity { id: "minilm".into(), version: "2".into(), adapter: None };
    let text = "x".repeat(encoded - FRAME);
    EmbeddingParts { text, model, dimensions: 384, instruction: None, visibility: Visibility::Tenant }
}

/// What the encoding of an embedding's parts has beside the text: eighteen headers and 87 bytes of values.
const FRAME: usize = 18 * 12 + 87;
