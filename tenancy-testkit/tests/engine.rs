//! The stub of an inference engine, asked as by anybody.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use serde_json::{Value, json};
use tenancy_testkit::StubEngine;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The status and the answer.
async fn ask(engine: &StubEngine, key: &str, body: &Value) -> (u16, Value) {
    let address = engine.url().replace("http://", "").replace("/v1", "");
    let body = body.to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\n\
         x-seen: yes\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
}

fn body(model: &str, salt: Value, words: usize) -> Value {
    let text: Vec<String> = (0..words).map(|word| format!("w{word}")).collect();
    json!({ "model": model, "messages": [{ "role": "user", "content": text.join(" ") }], "cache_salt": salt })
}

/// The cached tokens of each request.
async fn cached(engine: &StubEngine, bodies: &[Value]) -> Vec<Value> {
    let mut cached = Vec::new();
    for body in bodies {
        let (status, answer) = ask(engine, "", body).await;
        assert_eq!(status, 200, "{answer}");
        cached.push(answer["usage"]["prompt_tokens_details"]["cached_tokens"].clone());
    }
    cached
}

/// Twenty words of the template, one of the role, and so many more.
#[tokio::test]
async fn whole_blocks_of_one_salt_and_model_are_found() {
    let engine = StubEngine::honours_salts().start().await;
    let (a, b) = (json!("s1_a"), json!("s1_b"));
    let bodies = [
        body("m", a.clone(), 43),
        body("m", a.clone(), 43),
        body("m", a.clone(), 44),
        body("m", a.clone(), 20),
        body("m", b.clone(), 44),
        body("m", Value::Null, 44),
        body("m", Value::Null, 44),
        body("n", a, 44),
    ];
    let found = cached(&engine, &bodies).await;
    assert_eq!(found, [0, 48, 64, 32, 0, 0, 64, 0], "of 64 words the last block is computed again");

    let engine = StubEngine::ignores_salts().start().await;
    assert_eq!(cached(&engine, &[body("m", json!("s1_a"), 44), body("m", b, 44)]).await, [0, 64]);
    let engine = StubEngine::honours_salts().ignores_an_absent_salt().start().await;
    let bodies = [body("m", json!("s1_a"), 44), body("m", Value::Null, 44), body("m", json!("s1_b"), 44)];
    assert_eq!(cached(&engine, &bodies).await, [0, 64, 0]);
}

#[tokio::test]
async fn it_reports_as_it_is_told() {
    let twice = [body("m", json!("s"), 44), body("m", json!("s"), 44)];
    let engine = StubEngine::honours_salts().caches_nothing().start().await;
    assert_eq!(cached(&engine, &twice).await, [0, 0]);
    let engine = StubEngine::honours_salts().omits_zeros().start().await;
    assert_eq!(cached(&engine, &twice).await, [Value::Null, json!(64)]);
    let engine = StubEngine::honours_salts().reports_nothing().start().await;
    assert_eq!(cached(&engine, &twice).await, [Value::Null, Value::Null]);
}

#[tokio::test]
async fn what_is_no_salt_and_no_request_is_refused() {
    let engine = StubEngine::honours_salts().start().await;
    for salt in ["", "a@b", "a/b", "a\\b", "a\0b", &"x".repeat(129)] {
        assert_eq!(ask(&engine, "", &body("m", json!(salt), 1)).await.0, 400, "{salt:?}");
    }
    for salt in [json!("x".repeat(128)), json!("+="), Value::Null] {
        assert_eq!(ask(&engine, "", &body("m", salt, 1)).await.0, 200);
    }
    for body in [json!({}), json!({ "model": "m" }), json!({ "model": "m", "messages": [{}] }), body("m", json!(1), 1)]
    {
        assert_eq!(ask(&engine, "", &body).await.0, 400, "{body}");
    }
}

#[tokio::test]
async fn it_lets_in_who_has_the_key_and_remembers_everybody() {
    let engine = StubEngine::honours_salts().wants_key("right").start().await;
    let body = body("m", json!("s"), 1);
    assert_eq!((ask(&engine, "wrong", &body).await.0, ask(&engine, "right", &body).await.0), (401, 200));
    let requests = engine.requests();
    assert_eq!((requests.len(), &requests[0].body), (2, &body));
    assert_eq!(requests[0].text, body.to_string());
    assert!(requests[1].headers.contains(&("x-seen".to_owned(), "yes".to_owned())), "{:?}", requests[1]);
}

#[tokio::test]
async fn it_answers_with_a_quote_or_as_it_is_told() {
    let asked = |most: Value| {
        let messages =
            json!([{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "When is lunch? Now?" }]);
        json!({ "model": "m", "messages": messages, "max_tokens": most })
    };
    let engine = StubEngine::honours_salts().start().await;
    let (_, whole) = ask(&engine, "", &asked(Value::Null)).await;
    assert_eq!(whole["choices"][0]["message"]["content"], "You said: \"When is lunch?\"");
    assert_eq!(
        (&whole["choices"][0]["finish_reason"], &whole["usage"]["completion_tokens"]),
        (&json!("stop"), &json!(5))
    );
    let (_, cut) = ask(&engine, "", &asked(json!(2))).await;
    assert_eq!(cut["choices"][0]["message"]["content"], "You said:");
    assert_eq!(cut["choices"][0]["finish_reason"], "length");

    let engine =
        StubEngine::honours_salts().answers(|messages| format!("{} {}", messages.len(), messages[0].1)).start().await;
    let (_, told) = ask(&engine, "", &asked(Value::Null)).await;
    assert_eq!(told["choices"][0]["message"]["content"], "2 Be brief.");
}

/// A connection that a client keeps is no way to ask on.
#[tokio::test]
async fn it_is_gone_with_its_value() {
    let engine = StubEngine::honours_salts().start().await;
    let address = engine.url().replace("http://", "").replace("/v1", "");
    let body = body("m", json!("s"), 1).to_string();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut kept = TcpStream::connect(&address).await.unwrap();
    kept.write_all(request.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    kept.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    drop(engine);
    let mut rest = Vec::new();
    kept.read_to_end(&mut rest).await.unwrap();
    assert!(TcpStream::connect(&address).await.is_err(), "nobody listens");
}
