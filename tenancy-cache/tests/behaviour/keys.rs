//! Keys beside the pairs of case C3, which every back end is tried with.

use tenancy_cache::{CacheError, CacheKey, KeyParts, Layer, Moment, SemanticParts, TenantCaches, derive};
use tenancy_core::TenantId;
use tenancy_core::chat::{Message, Role};

use crate::rig::{World, begin_write};
use crate::samples;

/// Derives at one moment of one tenant, so that the parts alone make the difference.
struct Keys {
    mine: TenantCaches,
    moment: Moment,
}

impl Keys {
    async fn new() -> Self {
        let world = World::new().await;
        let mine = world.of("acme").await;
        let moment = mine.moment(Layer::Response, &[]).await.unwrap();
        Self { mine, moment }
    }

    fn of<P: KeyParts<Key = CacheKey>>(&self, parts: &P) -> CacheKey {
        derive(self.mine.context(), &self.moment, parts).unwrap()
    }
}

/// The same bytes in every layer, as far as their parts allow.
#[tokio::test]
async fn the_same_bytes_in_two_layers_are_two_keys() {
    let k = Keys::new().await;
    let keys = [
        k.of(&samples::response()),
        k.of(&SemanticParts { inputs: samples::response().inputs, ..samples::semantic() }),
        k.of(&samples::retrieval()),
        k.of(&samples::embedding()),
        k.of(&samples::tool()),
    ];
    for (at, one) in keys.iter().enumerate() {
        for two in &keys[at + 1..] {
            assert_ne!(one, two);
        }
    }
}

#[tokio::test]
async fn two_versions_of_the_documents_are_two_keys() {
    let world = World::new().await;
    let mine = world.of("acme").await;
    let keys = async || {
        let (with, without) =
            (mine.moment(Layer::Response, &[]).await.unwrap(), mine.moment(Layer::Embedding, &[]).await.unwrap());
        (
            derive(mine.context(), &with, &samples::response()).unwrap(),
            derive(mine.context(), &with, &samples::retrieval()).unwrap(),
            derive(mine.context(), &without, &samples::embedding()).unwrap(),
        )
    };
    let before = keys().await;
    assert_eq!(before, keys().await, "no write, no new key");
    begin_write(&world.tenants, mine.context()).await.settle().await.unwrap();
    let after = keys().await;
    assert_ne!(before.0, after.0, "a response follows the documents");
    assert_ne!(before.1, after.1, "so does what a search finds");
    assert_eq!(before.2, after.2, "a text's vector does not");

    let globex = world.of("globex").await;
    let moment = globex.moment(Layer::Response, &[]).await.unwrap();
    let theirs = derive(globex.context(), &moment, &samples::response()).unwrap();
    begin_write(&world.tenants, mine.context()).await.settle().await.unwrap();
    let moment = globex.moment(Layer::Response, &[]).await.unwrap();
    assert_eq!(
        derive(globex.context(), &moment, &samples::response()).unwrap(),
        theirs,
        "a neighbour's write is no matter"
    );
}

#[tokio::test]
async fn a_chat_without_a_question_has_no_namespace() {
    let k = Keys::new().await;
    for (mechanism, messages) in [
        ("nothing said", vec![]),
        ("only the system", vec![Message::new(Role::System, "s")]),
        ("the model spoke last", vec![Message::new(Role::User, "q"), Message::new(Role::Assistant, "a")]),
        ("a tool spoke last", vec![Message::new(Role::User, "q"), Message::new(Role::Tool, "r")]),
    ] {
        let mut parts = samples::semantic();
        parts.chat.messages = messages;
        let outcome = derive(k.mine.context(), &k.moment, &parts);
        assert!(matches!(outcome, Err(CacheError::NoQuestion)), "{mechanism}");
    }
}

#[test]
fn an_empty_tenant_does_not_construct() {
    for name in ["", " ", "null", "default", "a:b", "\u{430}cme"] {
        assert!(TenantId::parse(name).is_err(), "{name:?}");
    }
}
