//! Case C2 and its kind: what separates questions, though all are alike.

use tenancy_cache::{Lookup, SemanticParts};
use tenancy_core::Visibility;
use tenancy_core::chat::{
    Decimal, FunctionSpec, Message, ModelIdentity, ResponseFormat, Role, ToolChoice, WeightDigest,
};

use crate::{World, asks, begin_write, fill, hit, slot};

#[tokio::test(flavor = "multi_thread")]
async fn c2_a_question_finds_answers_of_its_own_tenant_alone() {
    for (store, world) in World::all().await {
        let (acme, globex) = (world.of("acme").await, world.of("globex").await);
        fill(&acme, &asks("q1"), "acme's").await;
        assert_eq!(hit(&acme, &asks("q2")).await.as_deref(), Some("acme's"), "{store}: the cache is alive");
        assert_eq!(hit(&globex, &asks("q1")).await, None, "{store}: at a similarity of 1.0");
        fill(&globex, &asks("q3"), "globex's").await;
        assert_eq!(hit(&globex, &asks("q1")).await.as_deref(), Some("globex's"), "{store}");
        assert_eq!(hit(&acme, &asks("q3")).await.as_deref(), Some("acme's"), "{store}: in the other direction");
    }
}

/// The question's text, and everything that is not.
#[tokio::test(flavor = "multi_thread")]
async fn c2_whatever_shapes_an_answer_is_another_namespace() {
    let tool = || FunctionSpec {
        name: "read_file".to_owned(),
        version: "1".to_owned(),
        description: String::new(),
        parameters: "{}".to_owned(),
    };
    type Change = (&'static str, Box<dyn Fn(&mut SemanticParts)>);
    let changes: Vec<Change> = vec![
        ("system prompt", Box::new(|p| p.chat.messages[0] = Message::new(Role::System, "Answer at length."))),
        ("no system prompt", Box::new(|p| drop(p.chat.messages.remove(0)))),
        ("who said it", Box::new(|p| p.chat.messages[0].role = Role::User)),
        ("a turn before", Box::new(|p| p.chat.messages.insert(1, Message::new(Role::User, "And breakfast?")))),
        ("the asker's name", Box::new(|p| p.chat.messages.last_mut().unwrap().name = Some("bob".to_owned()))),
        ("a tool", Box::new(move |p| p.chat.tools = vec![tool()])),
        ("tool choice", Box::new(|p| p.chat.tool_choice = ToolChoice::Required)),
        ("temperature", Box::new(|p| p.chat.temperature = Some(Decimal::from_micros(700_000)))),
        ("format", Box::new(|p| p.chat.response_format = ResponseFormat::Json)),
        ("model version", Box::new(|p| p.chat.model.version = "3.2".to_owned())),
        ("adapter", Box::new(|p| p.chat.model.adapter = Some(WeightDigest::new([7; 32])))),
        ("endpoint", Box::new(|p| p.endpoint = "http://other".to_owned())),
        ("inputs", Box::new(|p| p.inputs = vec![b"a row".to_vec()])),
        ("embedding model", Box::new(|p| p.embedding = ModelIdentity { id: "e5".to_owned(), ..p.embedding.clone() })),
        ("instruction", Box::new(|p| p.instruction = Some("query: ".to_owned()))),
        ("visibility", Box::new(|p| p.visibility = Visibility::Subject)),
    ];
    for (store, world) in World::all().await {
        let acme = world.of("acme").await;
        fill(&acme, &asks("q1"), "of q1").await;
        for (what, change) in &changes {
            let mut parts = asks("q1");
            change(&mut parts);
            assert_eq!(hit(&acme, &parts).await, None, "{store}, {what}");
            fill(&acme, &parts, what).await;
            *parts.chat.messages.last_mut().unwrap() =
                Message { content: "q2".to_owned(), ..parts.chat.messages.last().unwrap().clone() };
            assert_eq!(hit(&acme, &parts).await.as_deref(), Some(*what), "{store}, {what}: alive");
        }
        assert_eq!(hit(&acme, &asks("q2")).await.as_deref(), Some("of q1"), "{store}: the first is where it was");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c2_an_answer_for_one_subject_or_role_is_not_anothers() {
    let world = World::new().await;
    for (visibility, alike, other) in [
        (Visibility::Subject, ("alice", &["viewer"][..]), ("bob", &["editor"][..])),
        (Visibility::Roles, ("bob", &["editor"]), ("alice", &["viewer"])),
    ] {
        let alice = world.of_user("acme", "alice", &["editor"]).await;
        let parts = |text| SemanticParts { visibility, ..asks(text) };
        fill(&alice, &parts("q1"), "alice's").await;
        let (alike, other) =
            (world.of_user("acme", alike.0, alike.1).await, world.of_user("acme", other.0, other.1).await);
        assert_eq!(hit(&alike, &parts("q2")).await.as_deref(), Some("alice's"), "{visibility:?}");
        assert_eq!(hit(&other, &parts("q1")).await, None, "{visibility:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c2_answers_from_older_documents_are_not_found() {
    for (store, world) in World::all().await {
        let (acme, globex) = (world.of("acme").await, world.of("globex").await);
        fill(&acme, &asks("q1"), "old").await;
        fill(&globex, &asks("q1"), "globex's").await;
        let late = slot(&acme, &SemanticParts { endpoint: "http://late".to_owned(), ..asks("q1") }, &crate::SAME).await;
        let write = begin_write(&world.tenants, &world.tenants.context("acme").await).await;
        assert!(matches!(acme.lookup(&asks("q1"), &crate::SAME).await.unwrap(), Lookup::Bypass(_)), "{store}");
        write.settle().await.unwrap();
        late.put(&"late".to_owned()).await.unwrap();
        assert_eq!(hit(&acme, &asks("q1")).await, None, "{store}");
        let late = SemanticParts { endpoint: "http://late".to_owned(), ..asks("q2") };
        assert_eq!(hit(&acme, &late).await, None, "{store}");
        assert_eq!(hit(&globex, &asks("q2")).await.as_deref(), Some("globex's"), "{store}");
        fill(&acme, &asks("q1"), "new").await;
        assert_eq!(hit(&acme, &asks("q2")).await.as_deref(), Some("new"), "{store}");
    }
}

/// Keeping a question is no change of the tenant's documents.
#[tokio::test]
async fn c2_a_kept_question_leaves_the_other_caches_warm() {
    let world = World::new().await;
    let mine = world.caches.scoped(&world.tenants.context("acme").await).unwrap();
    let Lookup::Miss(place) = mine.response::<String>().lookup(&crate::samples::response()).await.unwrap() else {
        panic!("a miss")
    };
    place.put(&"kept".to_owned()).await.unwrap();
    let acme = world.of("acme").await;
    for n in 0..5 {
        let parts = SemanticParts { endpoint: format!("http://{n}"), ..asks("q") };
        fill(&acme, &parts, "answer").await;
        acme.invalidate(&parts).await.unwrap();
    }
    let found = mine.response::<String>().lookup(&crate::samples::response()).await.unwrap();
    assert!(matches!(found, Lookup::Hit(_)), "{found:?}");
}
