//! Case C5: what a client says of salts reaches no engine.

use serde_json::{Value, json};
use tenancy_cache::engine::{EngineBody, EngineError};
use tenancy_cache::{Caches, EngineParts, MemoryBackend};
use tenancy_core::Visibility;
use tenancy_core::chat::{ChatRequest, Decimal, Message, Role};
use tenancy_testkit::{StubEngine, TestTenants};

use crate::{client_of, is_salt, samples};

/// A client's body that carries everything by which an engine's cache is told whose it is.
fn hostile(victim: &str) -> Value {
    json!({
        "model": format!("support-{victim}"),
        "messages": [{ "role": "user", "content": "When is lunch?", "cache_salt": victim }],
        "temperature": 0.5,
        "cache_salt": victim,
        "extra_key": victim,
        "prompt_cache_key": victim,
        "nvext": { "cache_salt": victim },
        "extra_body": { "cache_salt": victim },
        "vllm_xargs": { "cache_salt": victim },
        "kv_transfer_params": { "do_remote_prefill": true, "remote": victim },
        "user": victim,
        "X-Cache-Salt": victim,
    })
}

/// What a service takes of a client's body: what it knows, by name.
fn read(client: &Value) -> ChatRequest {
    let said = client["messages"].as_array().unwrap().iter();
    let said = said.map(|message| Message::new(Role::User, message["content"].as_str().unwrap()));
    let mut chat = ChatRequest::new(samples::model(), said.collect());
    chat.temperature = Some(Decimal::from_f64(client["temperature"].as_f64().unwrap()).unwrap());
    chat
}

#[tokio::test]
async fn a_client_that_brings_a_neighbours_salt_is_sent_with_its_own() {
    let tenants = TestTenants::new().await;
    let caches = Caches::new(tenants.realm(), MemoryBackend::new());
    let engine = StubEngine::honours_salts().start().await;
    let client = client_of(&engine).key("sk-service".into());
    let parts = EngineParts { model: samples::model(), visibility: Visibility::Tenant };
    let mut salts = Vec::new();
    for tenant in ["acme", "globex"] {
        salts.push(caches.scoped(&tenants.context(tenant).await).unwrap().engine_salt(&parts).await.unwrap());
    }
    for (mine, victim) in [(&salts[0], &salts[1]), (&salts[1], &salts[0])] {
        let asked = hostile(victim.as_str());
        let chat = read(&asked);
        let answer = client.chat(&EngineBody::new(&chat, mine).unwrap()).await.unwrap();
        assert_eq!(answer["choices"][0]["message"]["content"], "You said: \"When is lunch?\"");

        let sent = engine.requests().pop().unwrap();
        assert_eq!(sent.body["cache_salt"], mine.as_str());
        assert!(is_salt(mine.as_str()));
        assert!(!sent.text.contains(victim.as_str()), "{}", sent.text);
        let mut names: Vec<&str> = sent.body.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["cache_salt", "messages", "model", "n", "temperature"]);
        assert_eq!(sent.text.matches("cache_salt").count(), 1);
        let names: Vec<&str> = sent.headers.iter().map(|(name, _)| name.as_str()).collect();
        let plain = ["accept", "authorization", "content-length", "content-type", "host"];
        assert!(names.iter().all(|name| plain.contains(name)), "{names:?}");
        assert!(
            sent.headers.iter().all(|(_, value)| !value.contains(victim.as_str()) && !value.contains(mine.as_str()))
        );
    }
}

/// A body is read into a request by no way that takes more than the request has.
#[test]
fn a_request_does_not_take_what_it_does_not_know() {
    let chat = serde_json::to_value(samples::chat()).unwrap();
    assert_eq!(serde_json::from_value::<ChatRequest>(chat.clone()).unwrap(), samples::chat());
    for name in ["cache_salt", "extra_key", "prompt_cache_key", "kv_transfer_params", "nvext", "extra_body"] {
        for place in ["", "/model", "/messages/0"] {
            let mut more = chat.clone();
            more.pointer_mut(place).unwrap()[name] = json!("s1_victim");
            assert!(serde_json::from_value::<ChatRequest>(more).is_err(), "{name} in {place:?}");
        }
    }
}

/// Two tenants of one engine, with the salts that they really have.
#[tokio::test]
async fn tenants_find_their_own_prefixes_and_no_others() {
    let tenants = TestTenants::new().await;
    let caches = Caches::new(tenants.realm(), MemoryBackend::new());
    let engine = StubEngine::honours_salts().start().await;
    let client = client_of(&engine);
    let parts = EngineParts { model: samples::model(), visibility: Visibility::Tenant };
    let long = "When is lunch? ".repeat(50);
    let cached = async |tenant: &str| -> Result<Value, EngineError> {
        let salt = caches.scoped(&tenants.context(tenant).await).unwrap().engine_salt(&parts).await.unwrap();
        let chat = ChatRequest::new(samples::model(), vec![Message::new(Role::User, &long)]);
        let answer = client.chat(&EngineBody::new(&chat, &salt)?).await?;
        Ok(answer["usage"]["prompt_tokens_details"]["cached_tokens"].clone())
    };
    let (first, second) = (cached("acme").await, cached("acme").await);
    assert_eq!((first, second), (Ok(json!(0)), Ok(json!(160))), "the owner's own is reused");
    assert_eq!(cached("globex").await, Ok(json!(0)), "and nobody else's");
    assert_eq!(cached("globex").await, Ok(json!(160)));
    caches.scoped(&tenants.context("acme").await).unwrap().flush().await.unwrap();
    assert_eq!(
        (cached("acme").await, cached("globex").await),
        (Ok(json!(0)), Ok(json!(160))),
        "a flush is one tenant's"
    );
}
