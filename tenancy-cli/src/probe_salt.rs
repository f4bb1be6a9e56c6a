//! `tenancy probe-salt`.

use std::time::Duration;

use clap::Args;
use tenancy_cache::engine::{EngineError, OpenAiEngine};
use tenancy_cache::probe::{Cause, SaltProbe, SaltReport, SaltVerdict};

use crate::failure::Failure;
use crate::output::{print, tell};
use crate::verdict::Verdict;

/// What `--help` says.
pub(crate) const ABOUT: &str = "\
Ask an inference engine whether its salts keep prefixes of prompts apart.

An engine passes over a field that it does not know in silence, so a salt that was sent may do nothing. This asks random \
prompts under random salts, of no tenant, and without any: the same salt must find its own, or nothing is shown, and \
nobody else may. It goes by the cached tokens that the engine reports (vLLM: --enable-prompt-tokens-details; SGLang: \
--enable-cache-report), or by time. Behind a balancer, ask each replica.

What it does to the engine: it answers 46 requests of some 1,500 tokens, one after another, with one token each; by \
time 106 of some 5,000. They stay in its cache until they are driven out.

Exit codes: 0, salts are honoured; 1, they are ignored; 2, it could not look, or nothing was shown.";

#[derive(Args)]
pub(crate) struct Options {
    /// The base of the engine's API, as http://engine:8000/v1.
    #[arg(long, value_name = "URL")]
    endpoint: String,
    /// The model, or the adapter, by the engine's name for it.
    #[arg(long, value_name = "NAME")]
    model: String,
    /// The environment variable that holds the bearer key. Other processes of this machine can read a command line.
    #[arg(long, value_name = "VAR")]
    key_env: Option<String>,
    /// Go by how long answers take, for an engine that reports no cached tokens, or that is not believed.
    #[arg(long)]
    by_time: bool,
    /// How many rounds, of fifteen requests each.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// How many words a prompt has, of two or three tokens each.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    words: Option<u32>,
    /// How long to wait for one answer, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    patience: u64,
    /// The whole report as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(options: Options) -> Result<Verdict, Failure> {
    let report = options.probe().run(&options.engine()?).await;
    if options.json {
        print(format_args!("{:#}\n", serde_json::json!(report)))?;
    } else {
        print(&report)?;
    }
    Ok(verdict(&report))
}

impl Options {
    fn engine(&self) -> Result<OpenAiEngine, Failure> {
        let engine = OpenAiEngine::new(&self.endpoint, &self.model)
            .map_err(|error| Failure::Argument { name: "--endpoint", why: error.to_string() })?;
        let engine = engine.patience(self.patience());
        let Some(name) = &self.key_env else { return Ok(engine) };
        match std::env::var(name) {
            Ok(key) if !key.is_empty() => Ok(engine.key(key.into())),
            _unset_or_unreadable => {
                Err(Failure::Argument { name: "--key-env", why: "there is no text in this variable".to_owned() })
            }
        }
    }

    fn probe(&self) -> SaltProbe {
        let mut probe = if self.by_time { SaltProbe::by_time() } else { SaltProbe::new() };
        if let Some(rounds) = self.rounds {
            probe = probe.rounds(rounds);
        }
        if let Some(words) = self.words {
            probe = probe.words(words as usize);
        }
        probe.patience(self.patience())
    }

    const fn patience(&self) -> Duration {
        Duration::from_secs(self.patience)
    }
}

/// What was not shown is not so.
fn verdict(report: &SaltReport) -> Verdict {
    match report.verdict() {
        SaltVerdict::Honoured => Verdict::PASSED,
        SaltVerdict::Ignored { .. } => Verdict::FATAL,
        SaltVerdict::Inconclusive { cause } => {
            if let Some(hint) = hint(cause) {
                tell(hint);
            }
            Verdict::COULD_NOT_LOOK
        }
        _later => Verdict::COULD_NOT_LOOK,
    }
}

fn hint(cause: Cause) -> Option<&'static str> {
    match cause {
        Cause::Engine(EngineError::Refused(400 | 422)) => {
            Some("does the model take prompts as long (--words), and the engine a cache_salt?")
        }
        Cause::Engine(EngineError::Refused(401 | 403)) => Some("name the variable of the key with --key-env"),
        Cause::Engine(EngineError::Refused(404)) => {
            Some("is the endpoint the base, with /v1, and does the engine have the model?")
        }
        Cause::NotReported => Some("let the engine report (vLLM: --enable-prompt-tokens-details), or say --by-time"),
        Cause::NotCached | Cause::NotFaster => {
            Some("is prefix caching on, and is there one replica behind the endpoint?")
        }
        Cause::Spread => Some("try it when the engine has no other work, or with more --words and --rounds"),
        _other => None,
    }
}
