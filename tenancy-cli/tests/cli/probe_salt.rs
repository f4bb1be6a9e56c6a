//! `tenancy probe-salt`, against stubs of engines.

use std::process::Output;
use std::time::Duration;

use serde_json::Value;
use tenancy_testkit::{StubEngine, StubEngineBuilder};
use tokio::process::Command;

use crate::common::Ran;

const KEY: &str = "sk-hunter2";

/// Runs the program while the stub goes on answering.
async fn run(arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenancy"));
    command.arg("probe-salt").args(arguments).env("ENGINE_KEY", KEY).env("EMPTY_KEY", "");
    let Output { status, stdout, stderr } = command.output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: status.code().unwrap(), out: text(stdout), err: text(stderr) }
}

async fn probe(stub: StubEngineBuilder, more: &[&str]) -> Ran {
    let engine = stub.start().await;
    run(&[["--endpoint", &engine.url(), "--model", "llama"].as_slice(), more].concat()).await
}

#[tokio::test]
async fn the_exit_code_says_what_was_found() {
    for (mechanism, stub, code, out, err) in [
        ("honours", StubEngine::honours_salts(), 0, "honoured: ", ""),
        ("ignores", StubEngine::ignores_salts(), 1, "ignored: one salt found what another had asked", ""),
        (
            "ignores that there is none",
            StubEngine::honours_salts().ignores_an_absent_salt(),
            1,
            "ignored: a request without a salt",
            "",
        ),
        ("caches nothing", StubEngine::honours_salts().caches_nothing(), 2, "inconclusive: ", "is prefix caching on"),
        ("reports nothing", StubEngine::ignores_salts().reports_nothing(), 2, "inconclusive: ", "--by-time"),
        ("lets nobody in", StubEngine::honours_salts().wants_key(KEY), 2, "refused with status 401", "--key-env"),
    ] {
        let ran = probe(stub, &[]).await;
        assert_eq!(ran.code, code, "{mechanism}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains(out), "{mechanism}: {}", ran.out);
        assert!(if err.is_empty() { ran.err.is_empty() } else { ran.err.contains(err) }, "{mechanism}: {}", ran.err);
    }
}

#[tokio::test]
async fn by_time_it_needs_no_report() {
    let each_token = Duration::from_micros(200);
    for (stub, code, verdict) in
        [(StubEngine::honours_salts(), 0, "honoured"), (StubEngine::ignores_salts(), 1, "ignored")]
    {
        let stub = stub.reports_nothing().computes_for(each_token);
        let ran = probe(stub, &["--by-time", "--words", "400", "--rounds", "3", "--json"]).await;
        assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!((&report["verdict"], &report["evidence"]), (&verdict.into(), &"time".into()));
        assert_eq!(report["asks"].as_array().unwrap().len(), 45);
    }
}

#[tokio::test]
async fn the_key_comes_from_the_variable_and_is_shown_nowhere() {
    let engine = StubEngine::honours_salts().wants_key(KEY).start().await;
    let url = engine.url();
    let arguments =
        ["--endpoint", &url, "--model", "llama", "--key-env", "ENGINE_KEY", "--rounds", "1", "--words", "40"];
    for json in [&[][..], &["--json"]] {
        let ran = run(&[&arguments, json].concat()).await;
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert!(!format!("{}{}", ran.out, ran.err).contains("hunter2"));
    }
    let requests = engine.requests();
    assert_eq!(requests.len(), 32, "as many rounds as were asked for");
    let prompt = requests[0].body["messages"][0]["content"].as_str().unwrap();
    assert_eq!(prompt.split(' ').count(), 40, "as many words");
}

#[tokio::test]
async fn what_cannot_be_asked_is_a_clear_error_that_quotes_no_secret() {
    let fine = "http://127.0.0.1:1/v1";
    for (arguments, said) in [
        (&["--model", "llama"][..], "--endpoint"),
        (&["--endpoint", fine], "--model"),
        (&["--endpoint", "engine", "--model", "llama"], "--endpoint: the address is no http or https URL"),
        (&["--endpoint", "http://hunter2@engine/v1", "--model", "llama"], "--endpoint: the address is no http"),
        (&["--endpoint", fine, "--model", "llama", "--key-env", "NO_SUCH_KEY"], "--key-env: there is no text"),
        (&["--endpoint", fine, "--model", "llama", "--key-env", "EMPTY_KEY"], "--key-env: there is no text"),
        (&["--endpoint", fine, "--model", "llama", "--rounds", "0"], "--rounds"),
    ] {
        let ran = run(arguments).await;
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.err.contains(said) && !ran.err.contains("hunter2"), "{arguments:?}: {}", ran.err);
    }
    let nobody = run(&["--endpoint", fine, "--model", "llama"]).await;
    assert!(nobody.code == 2 && nobody.out.starts_with("inconclusive: the engine can't be reached"), "{}", nobody.out);
    let help = run(&["--help"]).await;
    assert!(help.code == 0 && help.out.contains("Exit codes: 0, salts are honoured"), "{}", help.out);
}
