//! Engines that answer with anything but an answer.

use std::error::Error;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tenancy_cache::EngineSalt;
use tenancy_cache::engine::{EngineBody, EngineError, Observed, OpenAiEngine, PrefixEngine};
use tenancy_cache::probe::{Cause, SaltVerdict};
use tenancy_testkit::StubEngine;

use crate::raw::{Raw, Then, http};
use crate::{by_time, by_tokens, client_of, salt, samples};

const KEY: &str = "sk-hunter2";

fn ok(body: &str) -> Vec<u8> {
    http("200 OK", "content-type: application/json\r\n", body)
}

fn usage(usage: &str) -> Vec<u8> {
    ok(&format!(r#"{{"choices":[{{}}],"usage":{usage},"secret":"quoted-prompt"}}"#))
}

/// Every answer is an error of its kind to whoever chats and no proof to whoever probes, and none is repeated to anybody.
#[tokio::test]
async fn an_unusable_answer_is_a_quiet_error_and_no_proof() {
    let elsewhere = StubEngine::honours_salts().start().await;
    let moved = format!("location: {}/chat/completions\r\n", elsewhere.url());
    let endless = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{}",
        "400\r\n".to_owned() + &"x".repeat(1024) + "\r\n"
    );
    let endless = endless.clone() + &format!("400\r\n{}\r\n", "x".repeat(1024)).repeat(2048);
    for (mechanism, bytes, then, error) in [
        ("not JSON", ok("quoted-prompt"), Then::Close, EngineError::Unreadable),
        ("nothing", ok(""), Then::Close, EngineError::Unreadable),
        ("not UTF-8", [ok("").as_slice(), &[0xff]].concat(), Then::Close, EngineError::Unreadable),
        ("another shape", ok(r#"["quoted-prompt"]"#), Then::Close, EngineError::Unreadable),
        ("an error with status 200", ok(r#"{"error":"quoted-prompt"}"#), Then::Close, EngineError::Unreadable),
        ("no choice", ok(r#"{"choices":[]}"#), Then::Close, EngineError::Unreadable),
        ("deep", ok(&"[".repeat(100_000)), Then::Close, EngineError::Unreadable),
        (
            "a count that is a text",
            usage(r#"{"prompt_tokens_details":{"cached_tokens":"16"}}"#),
            Then::Close,
            EngineError::Unreadable,
        ),
        (
            "a count below zero",
            usage(r#"{"prompt_tokens_details":{"cached_tokens":-1}}"#),
            Then::Close,
            EngineError::Unreadable,
        ),
        (
            "half a token",
            usage(r#"{"prompt_tokens_details":{"cached_tokens":0.5}}"#),
            Then::Close,
            EngineError::Unreadable,
        ),
        ("too large, and said so", ok(&"x".repeat((1 << 20) + 1)), Then::Silence, EngineError::TooLarge),
        ("without an end", endless.into_bytes(), Then::Silence, EngineError::TooLarge),
        ("elsewhere", http("307 Temporary Redirect", &moved, ""), Then::Close, EngineError::Refused(307)),
        ("elsewhere for good", http("301 Moved Permanently", &moved, ""), Then::Close, EngineError::Refused(301)),
        ("no content", http("204 No Content", "", ""), Then::Close, EngineError::Refused(204)),
        ("a refusal", http("400 Bad Request", "", "quoted-prompt"), Then::Close, EngineError::Refused(400)),
        ("a failure", http("500 Oops", "", &"quoted-prompt".repeat(1 << 20)), Then::Silence, EngineError::Refused(500)),
        ("no HTTP", b"SSH-2.0-quoted-prompt\r\n".to_vec(), Then::Close, EngineError::Unreachable),
        ("hanging up", Vec::new(), Then::Close, EngineError::Unreachable),
        (
            "half an answer",
            b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"choices\"".to_vec(),
            Then::Close,
            EngineError::Unreachable,
        ),
        ("silence", Vec::new(), Then::Silence, EngineError::Late),
        (
            "silence half-way",
            b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"choices\"".to_vec(),
            Then::Silence,
            EngineError::Late,
        ),
    ] {
        let server = Raw::answering(bytes, then).await;
        let patience = if error == EngineError::Late { Duration::from_millis(200) } else { Duration::from_secs(20) };
        let engine = OpenAiEngine::new(&server.url(), "llama").unwrap().key(KEY.into()).patience(patience);
        let (chat, salt) = (samples::chat(), salt().await);
        let asked = engine.chat(&EngineBody::new(&chat, &salt).unwrap()).await;
        // A count is looked at by whoever asks for it.
        let failed = asked.err().unwrap_or(error);
        assert_eq!(failed, error, "{mechanism}");
        let asked = engine.ask("quoted-prompt", Some(&salt)).await;
        assert_eq!(asked.unwrap_err(), error, "{mechanism}");

        let report = by_tokens().run(&engine).await;
        assert_eq!(report.verdict(), SaltVerdict::Inconclusive { cause: Cause::Engine(error) }, "{mechanism}");
        let told = format!("{report} {report:?} {failed} {failed:?} {engine:?} {salt:?}");
        let port = server.port().to_string();
        for secret in ["quoted", "hunter2", "127.0.0.1", &port, &salt.as_str()[..12], "llama"] {
            assert!(!told.contains(secret), "{mechanism}: {secret} in {told}");
        }
        assert!(failed.source().is_none(), "{mechanism}");
    }
    assert_eq!(elsewhere.requests().len(), 0, "no redirect is followed");
}

/// More from the cache than there is: no number of such a report is believed.
#[tokio::test]
async fn more_cached_than_asked_is_no_report() {
    let server =
        Raw::answering(usage(r#"{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":11}}"#), Then::Close);
    let server = server.await;
    let engine = OpenAiEngine::new(&server.url(), "llama").unwrap();
    assert_eq!(engine.ask("p", None).await, Err(EngineError::Unreadable));
    let server =
        Raw::answering(usage(r#"{"prompt_tokens":11,"prompt_tokens_details":{"cached_tokens":11}}"#), Then::Close)
            .await;
    let engine = OpenAiEngine::new(&server.url(), "llama").unwrap();
    let observed = engine.ask("p", None).await.unwrap();
    assert_eq!((observed.cached_tokens, observed.prompt_tokens), (Some(11), Some(11)));
    // And all of it, always, is what a salt that nobody has used can't have.
    let report = by_tokens().run(&engine).await;
    assert!(matches!(report.verdict(), SaltVerdict::Ignored { .. }), "{report}");
}

/// What engines leave out when they report nothing.
#[tokio::test]
async fn what_is_not_reported_is_not_made_up() {
    for silent in ["null", "{}", r#"{"prompt_tokens_details":null}"#, r#"{"prompt_tokens_details":{}}"#] {
        let server = Raw::answering(usage(silent), Then::Close).await;
        let engine = OpenAiEngine::new(&server.url(), "llama").unwrap();
        let observed = engine.ask("p", None).await.unwrap();
        assert_eq!((observed.cached_tokens, observed.prompt_tokens), (None, None), "{silent}");
        let report = by_tokens().run(&engine).await;
        assert_eq!(report.verdict(), SaltVerdict::Inconclusive { cause: Cause::NotReported }, "{silent}");
    }
}

struct Hangs;

#[async_trait]
impl PrefixEngine for Hangs {
    async fn ask(&self, _: &str, _: Option<&EngineSalt>) -> Result<Observed, EngineError> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn an_engine_that_never_answers_is_not_waited_for() {
    for probe in [by_tokens(), by_time()] {
        let began = Instant::now();
        let report = probe.patience(Duration::from_millis(50)).run(&Hangs).await;
        assert_eq!(report.verdict(), SaltVerdict::Inconclusive { cause: Cause::Engine(EngineError::Late) });
        assert!(began.elapsed() < Duration::from_secs(10));
    }
    let slow = StubEngine::honours_salts().computes_for(Duration::from_secs(1)).start().await;
    let report = by_tokens().run(&client_of(&slow).patience(Duration::from_millis(100))).await;
    assert_eq!(report.verdict(), SaltVerdict::Inconclusive { cause: Cause::Engine(EngineError::Late) });
}
