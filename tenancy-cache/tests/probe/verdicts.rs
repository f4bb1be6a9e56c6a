//! Each kind of engine, over HTTP, by tokens and by time.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use tenancy_cache::engine::EngineError;
use tenancy_cache::probe::{Cause, Evidence, Leak, SaltProbe, SaltReport, SaltVerdict};
use tenancy_testkit::{StubEngine, StubEngineBuilder};

use crate::{EACH_TOKEN, by_time, by_tokens, client_of, is_salt};

async fn probed(probe: SaltProbe, stub: StubEngineBuilder) -> SaltReport {
    let engine = stub.start().await;
    probe.run(&client_of(&engine)).await
}

const fn ignored(leak: Leak) -> SaltVerdict {
    SaltVerdict::Ignored { leak }
}

const fn inconclusive(cause: Cause) -> SaltVerdict {
    SaltVerdict::Inconclusive { cause }
}

#[tokio::test]
async fn by_tokens_each_engine_gets_its_verdict() {
    for (mechanism, stub, verdict) in [
        ("honours", StubEngine::honours_salts(), SaltVerdict::Honoured),
        ("honours, a zero is not said", StubEngine::honours_salts().omits_zeros(), SaltVerdict::Honoured),
        ("ignores", StubEngine::ignores_salts(), ignored(Leak::AcrossSalts)),
        ("ignores, a zero is not said", StubEngine::ignores_salts().omits_zeros(), ignored(Leak::AcrossSalts)),
        ("ignores that there is none", StubEngine::honours_salts().ignores_an_absent_salt(), ignored(Leak::ToUnsalted)),
        ("honours and caches nothing", StubEngine::honours_salts().caches_nothing(), inconclusive(Cause::NotCached)),
        ("ignores and caches nothing", StubEngine::ignores_salts().caches_nothing(), inconclusive(Cause::NotCached)),
        ("reports nothing", StubEngine::honours_salts().reports_nothing(), inconclusive(Cause::NotReported)),
        ("ignores, reports nothing", StubEngine::ignores_salts().reports_nothing(), inconclusive(Cause::NotReported)),
        (
            "caches nothing, a zero is not said",
            StubEngine::honours_salts().caches_nothing().omits_zeros(),
            inconclusive(Cause::NotReported),
        ),
    ] {
        let report = probed(by_tokens(), stub).await;
        assert_eq!(report.verdict(), verdict, "{mechanism}: {report}");
        assert_eq!((report.evidence(), report.asks().len()), (Evidence::CachedTokens, 30), "{mechanism}");
    }
}

/// None of them reports a token, so nothing but time tells them apart.
#[tokio::test]
async fn by_time_each_engine_gets_its_verdict() {
    for (mechanism, stub, verdict) in [
        ("honours", StubEngine::honours_salts(), SaltVerdict::Honoured),
        ("ignores", StubEngine::ignores_salts(), ignored(Leak::AcrossSalts)),
        ("ignores that there is none", StubEngine::honours_salts().ignores_an_absent_salt(), ignored(Leak::ToUnsalted)),
        ("caches nothing", StubEngine::honours_salts().caches_nothing(), inconclusive(Cause::NotFaster)),
    ] {
        let report = probed(by_time(), stub.reports_nothing().computes_for(EACH_TOKEN)).await;
        assert_eq!(report.verdict(), verdict, "{mechanism}: {report}");
        assert_eq!((report.evidence(), report.asks().len()), (Evidence::Time, 45), "{mechanism}");
    }
}

/// A prompt of less than a block is cached by no engine, whatever it does with salts.
#[tokio::test]
async fn a_prompt_that_is_too_short_proves_nothing() {
    for stub in [StubEngine::honours_salts(), StubEngine::ignores_salts()] {
        let report = probed(by_tokens().words(1), stub).await;
        assert!(!matches!(report.verdict(), SaltVerdict::Honoured), "{report}");
    }
    let report = probed(by_tokens().words(1), StubEngine::honours_salts()).await;
    assert_eq!(report.verdict(), inconclusive(Cause::NotCached), "{report}");
}

#[tokio::test]
async fn an_engine_that_is_not_there_or_lets_nobody_in_proves_nothing() {
    let engine = StubEngine::honours_salts().wants_key("hunter2").start().await;
    let shut_out = by_tokens().run(&client_of(&engine)).await;
    assert_eq!(shut_out.verdict(), inconclusive(Cause::Engine(EngineError::Refused(401))));
    assert_eq!(engine.requests().len(), 1, "the first that fails ends it");
    let client = client_of(&engine).key("hunter2".into());
    let let_in = by_tokens().run(&client).await;
    assert_eq!(let_in.verdict(), SaltVerdict::Honoured, "{let_in}");

    drop(engine);
    tokio::time::sleep(Duration::from_millis(100)).await;
    for probe in [by_tokens(), by_time()] {
        let gone = probe.run(&client).await;
        assert_eq!(gone.verdict(), inconclusive(Cause::Engine(EngineError::Unreachable)), "{gone}");
    }
}

/// Nothing else can be in the cache, no tenant's salt is touched, and "without a salt" is without the field.
#[tokio::test]
async fn each_prompt_has_salts_of_its_own() {
    let engine = StubEngine::honours_salts().start().await;
    let report = by_tokens().run(&client_of(&engine)).await;
    assert_eq!(report.verdict(), SaltVerdict::Honoured);
    let requests = engine.requests();
    assert_eq!(requests.len(), 31);
    let prompt = |body: &Value| body["messages"][0]["content"].as_str().unwrap().to_owned();
    let prompts: HashSet<String> = requests.iter().map(|request| prompt(&request.body)).collect();
    assert_eq!(prompts.len(), 7, "one to begin with and three a round");
    let salted: Vec<&str> = requests.iter().filter_map(|request| request.body["cache_salt"].as_str()).collect();
    let bare = requests.iter().filter(|request| request.body.get("cache_salt").is_none()).count();
    // Of the five for a prompt a salt that owns it asks three, and each other one.
    assert_eq!((salted.len(), bare), (20, 11));
    let salts: HashSet<&str> = salted.into_iter().collect();
    assert_eq!(salts.len(), 12, "two a prompt");
    assert!(salts.iter().all(|salt| is_salt(salt)), "in the form of a tenant's");
    for request in &requests {
        let body = request.body.as_object().unwrap();
        let known = ["cache_salt", "max_tokens", "messages", "model", "n", "temperature"];
        assert!(body.keys().all(|name| known.contains(&name.as_str())), "{body:?}");
        assert_eq!(
            (&body["max_tokens"], &body["temperature"], &body["model"]),
            (&json!(1), &json!(0), &json!("llama"))
        );
    }
    let told = format!("{report} {report:?} {}", serde_json::to_string(&report).unwrap());
    for secret in salts.iter().map(|salt| (*salt).to_owned()).chain(prompts) {
        assert!(!told.contains(&secret[..9]), "neither salts nor prompts are in a report");
    }
}

#[tokio::test]
async fn a_report_is_read_by_people_and_by_programs() {
    let report = probed(by_tokens().rounds(1), StubEngine::ignores_salts()).await;
    let shown = report.to_string();
    assert!(shown.starts_with("ignored: one salt found what another had asked\n"), "{shown}");
    // Of a hundred words and the template's twenty-one, seven whole blocks.
    let row = shown.lines().find(|line| line.starts_with("with another salt")).unwrap();
    assert!(
        row.split_whitespace().collect::<Vec<_>>().starts_with(&["with", "another", "salt", "2", "112"]),
        "{shown}"
    );

    let read = serde_json::to_value(&report).unwrap();
    assert_eq!(
        (&read["verdict"], &read["leak"], &read["evidence"]),
        (&json!("ignored"), &json!("across_salts"), &json!("cached_tokens"))
    );
    assert_eq!(read["asks"].as_array().unwrap().len(), 15);
    let first = &read["asks"][0];
    assert_eq!(
        (&first["round"], &first["owner"], &first["who"], &first["step"]),
        (&json!(1), &json!("nobody"), &json!("nobody"), &json!("cold"))
    );
    assert_eq!((&first["cached_tokens"], &first["prompt_tokens"]), (&json!(16), &json!(121)), "the template");

    let failed = probed(by_tokens(), StubEngine::honours_salts().wants_key("hunter2")).await;
    let read = serde_json::to_value(&failed).unwrap();
    assert_eq!(read["cause"], json!({ "engine": { "refused": 401 } }));
}
